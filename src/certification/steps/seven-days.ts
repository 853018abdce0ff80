import { addDays, datesFrom, daysBetween } from "#contract/dates.ts";
import {
  type Evidence,
  type Finding,
  historiesOf,
  hotelOf,
  pending,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";
import { longestRun } from "./longest.ts";

const DAYS = 7;

/** The business days to which a change at this time may belong: a night audit runs after midnight. */
function daysOf(sourceTime: string): string[] {
  const date = sourceTime.slice(0, 10);
  return date === "" ? [] : [date, addDays(date, -1)];
}

/** One hotel's evidence by business day: inventory of the day's own night, as of that day, and changes. */
interface HotelDays {
  readonly nights: Map<string, SeenRecord>;
  readonly changes: Map<string, SeenRecord>;
}

function hotelsOf(evidence: Evidence): HotelDays[] {
  const hotels = new Map<string, HotelDays>();
  const ofHotel = (record: SeenRecord): HotelDays => {
    const known = hotels.get(hotelOf(record)) ?? { nights: new Map(), changes: new Map() };
    hotels.set(hotelOf(record), known);
    return known;
  };
  for (const { versions } of historiesOf(evidence, "inventories"))
    for (const version of versions)
      if (daysOf(version.sourceTime).includes(version.key)) ofHotel(version).nights.set(version.key, version);
  for (const { versions } of historiesOf(evidence, "reservations"))
    for (const version of versions)
      for (const day of daysOf(version.sourceTime)) ofHotel(version).changes.set(day, version);
  return [...hotels.values()];
}

function findingOfHotel({ nights, changes }: HotelDays, run: readonly string[]): Finding[] {
  const requests = [...nights.values(), ...changes.values()].map(({ requestId }) => requestId);
  const [first, last] = [run[0], run.at(-1)];
  if (run.length >= DAYS) {
    const quiet = run.slice(-DAYS).find((day) => !changes.has(day));
    if (quiet === undefined) {
      const reason = `${run.length} consecutive days from ${first} to ${last}, each with its inventory and its bookings.`;
      return [right(reason, ...requests)];
    }
    const reason = `From ${first} to ${last} no reservation was created or changed on ${quiet} (lastModifiedDateTime). Each day needs one.`;
    return [wrong(reason, ...requests)];
  }
  // Days further apart belong to another attempt rather than to a week with a gap.
  const days = [...nights.keys()].sort();
  const recent = days.filter((day) => daysBetween(day, days.at(-1) ?? day) < 2 * DAYS);
  const [from, to] = [recent[0], recent.at(-1)];
  if (from === undefined || to === undefined || daysBetween(from, to) < DAYS - 1) return [];
  const without = datesFrom(from, 2 * DAYS).find((day) => !nights.has(day));
  const reason = `From ${from} to ${to} there is no inventory of ${without} created on that day (createDateTime). Each day's push must include its own night.`;
  return [wrong(reason, ...requests)];
}

export const sevenDays: Step = {
  name: "seven-days",
  title: "Seven days of a hotel",
  docs: "guides/inventory#what-to-send-and-when",
  instruction: ({ openedAt }) => {
    const today = openedAt.slice(0, 10);
    return `Send ${DAYS} consecutive days, for example ${addDays(today, -DAYS)} to ${addDays(today, -1)}: for each day the inventory created on it (createDateTime), of its own night and later ones, and at least one reservation created or changed on it (lastModifiedDateTime). A later day's push replaces the nights it contains.`;
  },
  notYet: "",
  find(evidence) {
    const hotels = hotelsOf(evidence).map((hotel) => {
      return { hotel, run: longestRun([...hotel.nights.keys()].sort()) };
    });
    const most = Math.max(0, ...hotels.map(({ run }) => run.length));
    return [
      pending(`${most} of ${DAYS} consecutive days of one property so far.`),
      ...hotels.flatMap(({ hotel, run }) => findingOfHotel(hotel, run)),
    ];
  },
};
