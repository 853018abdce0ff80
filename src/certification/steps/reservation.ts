import type { Evidence, SeenRecord } from "../evidence.ts";
import { listOf, numberOf, textOf } from "../fields.ts";
import { historiesOf } from "../history.ts";
import { hasNight, isLive, revenueDates, staysOf } from "../reservation.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

/** What would make its revenue or its nights count wrongly. */
const SLIPS: ReadonlySet<string> = new Set([
  "reservation.revenue-total",
  "reservation.revenue-summary",
  "reservation.outside-stay",
  "status.unmapped",
  "count.negative",
]);

/** What a reservation lacks that a revenue manager asks about; nothing for a whole one. */
function lackingOf(record: SeenRecord): string[] {
  const { fields } = record;
  const [stay] = listOf(fields, "roomStays");
  const days = [...revenueDates(record)];
  const stays = staysOf(record);
  const nights = Math.max(0, ...stays.map((one) => one.nights));
  const present: readonly (readonly [string, boolean])[] = [
    ["bookingDateTime", textOf(fields, "bookingDateTime") !== undefined],
    ["numberOfRooms", numberOf(fields, "numberOfRooms") !== undefined],
    ["channel", textOf(fields, "channel") !== undefined],
    ["a stay of a night or more", nights > 0],
    ["roomStays/0/marketSegmentCode", stay !== undefined && textOf(stay, "marketSegmentCode") !== undefined],
    ["roomStays/0/rateCode", stay !== undefined && textOf(stay, "rateCode") !== undefined],
    ["roomStays/0/numberOfAdults", stay !== undefined && numberOf(stay, "numberOfAdults") !== undefined],
    [
      "stayRevenue/daily of every night",
      stays.every((one) => days.filter((date) => hasNight(one, date)).length === one.nights),
    ],
  ];
  return present.flatMap(([name, isThere]) => (isThere ? [] : [name]));
}

function findingsOf(latest: readonly SeenRecord[]): Finding[] {
  return latest.flatMap((record) => {
    const { key, index, requestId } = record;
    const slip = record.warnings.find(({ code }) => SLIPS.has(code));
    if (slip !== undefined) return wrong(`${key} (/${index}): ${slip.message} (${slip.code}).`, requestId);
    if (!isLive(record) || lackingOf(record).length > 0) return [];
    return right(`${key} has its stay, rate, segment, channel and the revenue of every night.`, requestId);
  });
}

function notYetOf(latest: readonly SeenRecord[]): string {
  const nearest = latest
    .filter(isLive)
    .map((record) => ({ record, lacking: lackingOf(record) }))
    .toSorted((left, right) => left.lacking.length - right.lacking.length)[0];
  if (nearest === undefined) return "No reservation that holds a room has been seen.";
  return `The most complete reservation, ${nearest.record.key}, lacks ${nearest.lacking.join(", ")}.`;
}

function latestOf(evidence: Evidence): SeenRecord[] {
  return historiesOf(evidence, "reservations").map(({ latest }) => latest);
}

/** Specification section 2.2. */
export const reservation: Step = {
  name: "reservation",
  title: "A reservation with all that it is asked about",
  instruction: ({ clientCode, propertyCode }) =>
    `Book two nights or more in ${clientCode}/${propertyCode} and send the reservation with bookingDateTime, numberOfRooms, channel, a room stay with marketSegmentCode, rateCode and numberOfAdults, and stayRevenue.daily with each night once, its total the sum of its parts. No reservation may have a doubtful date, total or an unknown status.`,
  judge: (evidence) => {
    const latest = latestOf(evidence);
    return judgementOf(findingsOf(latest), notYetOf(latest));
  },
};
