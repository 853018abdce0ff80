import type { Evidence, SeenRecord } from "../evidence.ts";
import { datesFrom, dayAfter, daysBetween } from "../fields.ts";
import { historiesOf } from "../history.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

const DAYS = 7;

const hotelOf = ({ clientCode, propertyCode }: SeenRecord): string =>
  JSON.stringify([clientCode, propertyCode]);

/** The business days on which a change may be made that was made at this time: a night audit is after midnight. */
function daysOf(sourceTime: string): string[] {
  const date = sourceTime.slice(0, 10);
  return date === "" ? [] : [date, dayAfter(date, -1)];
}

/** What was sent of one hotel by business day. */
interface HotelDays {
  /** The inventory of the day's own night, as it was told on that day. */
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

interface Seen {
  readonly finding?: Finding;
  readonly days: number;
}

/** The longest run of days without a gap. */
function longestRun(days: readonly string[]): string[] {
  let run: string[] = [];
  let longest: string[] = [];
  for (const day of days) {
    const before = run.at(-1);
    run = before !== undefined && day === dayAfter(before, 1) ? [...run, day] : [day];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

function judgeHotel({ nights, changes }: HotelDays): Seen {
  const requests = [...nights.values(), ...changes.values()].map(({ requestId }) => requestId);
  const days = [...nights.keys()].sort();
  const run = longestRun(days);
  const [first = "", last = ""] = [run[0], run.at(-1)];
  if (run.length >= DAYS) {
    const quiet = run.slice(-DAYS).find((day) => !changes.has(day));
    const reason =
      quiet === undefined
        ? `${run.length} days in a row from ${first} to ${last}, each with its inventory and its bookings.`
        : `From ${first} to ${last} no reservation was made or changed on ${quiet} (lastModifiedDateTime). Each day has its bookings.`;
    return { days: run.length, finding: (quiet === undefined ? right : wrong)(reason, ...requests) };
  }
  // What lies further apart is no week with a gap, but two tries.
  const recent = days.filter((day) => daysBetween(day, days.at(-1) ?? day) < 2 * DAYS);
  const [from, to] = [recent[0], recent.at(-1)];
  if (from === undefined || to === undefined || daysBetween(from, to) < DAYS - 1) return { days: run.length };
  const without = datesFrom(from, 2 * DAYS).find((day) => !nights.has(day));
  return {
    days: run.length,
    finding: wrong(
      `From ${from} to ${to} there is no inventory of ${without} that was made on that day (createDateTime). Every day's push has that day's own night.`,
      ...requests,
    ),
  };
}

/** A week of a hotel's life, as every week will be. */
export const sevenDays: Step = {
  name: "seven-days",
  title: "Seven days of a hotel",
  instruction: ({ openedAt }) => {
    const today = openedAt.slice(0, 10);
    return `Play ${DAYS} days in a row, ${dayAfter(today, -DAYS)} to ${dayAfter(today, -1)} say: of each day the inventory that was made on it (createDateTime), the day's own night and the nights ahead, and at least one reservation made or changed on it (lastModifiedDateTime). A later day's push replaces the nights it names.`;
  },
  judge: (evidence) => {
    const hotels = hotelsOf(evidence).map(judgeHotel);
    const most = Math.max(0, ...hotels.map(({ days }) => days));
    const notYet = `${most} days so far of one property, of ${DAYS} in a row.`;
    return judgementOf(
      hotels.flatMap(({ finding }) => finding ?? []),
      notYet,
    );
  },
};
