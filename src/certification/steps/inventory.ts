import { addDays } from "#contract/dates.ts";
import { type Finding, hotelOf, latestOf, right, type SeenRecord, type Step, wrong } from "../step.ts";
import { longer, longestRun } from "./longest.ts";

const DATES_LEAST = 7;
/** Overbooking is legal; these warnings indicate mistakes. */
const INVENTORY_MISTAKES: ReadonlySet<string> = new Set([
  "inventory.sold-split",
  "inventory.room-type-repeated",
  "count.negative",
]);

function mistakeOf({ key, index, requestId, warnings }: SeenRecord): Finding[] {
  const mistake = warnings.find(({ code }) => INVENTORY_MISTAKES.has(code));
  if (mistake === undefined) return [];
  const place = `/${index}${mistake.pointer.replace(/^\/\d+/, "")}`;
  return [wrong(`${key}: ${mistake.message} (${mistake.code} at ${place}).`, requestId)];
}

export const inventory: Step = {
  name: "inventory",
  title: "Room inventory",
  docs: "guides/inventory#what-to-send-and-when",
  instruction: ({ clientCode, propertyCode, openedAt }) => {
    const today = openedAt.slice(0, 10);
    return `Send the inventory of ${clientCode}/${propertyCode} for ${DATES_LEAST} consecutive dates, such as ${today} to ${addDays(today, DATES_LEAST - 1)}: one record per date with every room type, transientSold + groupSold = roomsSold.`;
  },
  notYet: `No ${DATES_LEAST} consecutive dates of one property have been received.`,
  find(evidence) {
    const latest = latestOf(evidence, "inventories");
    const runs = [...Map.groupBy(latest, hotelOf).values()].map((ofHotel) => {
      const byDate = new Map(ofHotel.map((record) => [record.key, record]));
      return longestRun([...byDate.keys()].sort()).flatMap((date) => byDate.get(date) ?? []);
    });
    const run = runs.reduce(longer, []);
    const requests = run.map(({ requestId }) => requestId);
    const reason = `${run.length} consecutive dates from ${run[0]?.key} to ${run.at(-1)?.key}, counts that add up.`;
    const whole = run.length >= DATES_LEAST ? [right(reason, ...requests)] : [];
    return [...latest.flatMap(mistakeOf), ...whole];
  },
};
