import type { Resource } from "#contract/resource.ts";
import type { Certification } from "../certification.ts";
import type { Evidence, SeenBackfill, SeenRecord } from "../evidence.ts";
import { datesFrom, dayAfter } from "../fields.ts";
import { historiesOf } from "../history.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

const DATES = 90;
/** Far enough ahead that no other step sends these dates by the way. */
const STARTS_IN_DAYS = 30;
const RESERVATIONS_LEAST = 10;
/** A cold start comes in large batches; one of two years would take 730 requests else. */
const DATES_A_REQUEST_LEAST = 5;

function datesOf({ openedAt }: Certification): string[] {
  return datesFrom(dayAfter(openedAt.slice(0, 10), STARTS_IN_DAYS), DATES);
}

/** Where the first records of one hotel's dates were, by date. */
function firstsByHotel(
  evidence: Evidence,
  wanted: ReadonlySet<string>,
): Map<string, Map<string, SeenRecord>> {
  const hotels = new Map<string, Map<string, SeenRecord>>();
  for (const { versions } of historiesOf(evidence, "inventories")) {
    const first = versions[0];
    if (first === undefined || !wanted.has(first.key)) continue;
    const hotel = JSON.stringify([first.clientCode, first.propertyCode]);
    const dates = hotels.get(hotel) ?? new Map<string, SeenRecord>();
    hotels.set(hotel, dates.set(first.key, first));
  }
  return hotels;
}

interface Seen {
  readonly findings: readonly Finding[];
  readonly notYet: string;
}

function judge(evidence: Evidence): Seen {
  const dates = datesOf(evidence.certification);
  const [first = "", last = ""] = [dates[0], dates.at(-1)];
  const hotels = [...firstsByHotel(evidence, new Set(dates)).values()];
  const seen = hotels.toSorted((left, right) => right.size - left.size)[0];
  if (seen === undefined)
    return { findings: [], notYet: `No inventory from ${first} to ${last} has been seen.` };
  const missing = dates.filter((date) => !seen.has(date));
  const requests = [...new Set([...seen.values()].map(({ requestId }) => requestId))];
  if (missing.length > 0) {
    const told = `${missing.slice(0, 5).join(", ")}${missing.length > 5 ? " …" : ""}`;
    if (seen.has(last))
      return {
        findings: [
          wrong(
            `${missing.length} of ${DATES} dates from ${first} to ${last} were left out: ${told}. A cold start has every date, also those on which nothing is sold.`,
            ...requests,
          ),
        ],
        notYet: "",
      };
    return { findings: [], notYet: `${seen.size} of ${DATES} dates so far; the next is ${missing[0]}.` };
  }
  if (seen.size / requests.length < DATES_A_REQUEST_LEAST)
    return {
      findings: [
        wrong(
          `${seen.size} dates came in ${requests.length} requests. Send many records in one batch: up to 10,000.`,
          ...requests,
        ),
      ],
      notYet: "",
    };
  const reservations = historiesOf(evidence, "reservations").length;
  if (reservations < RESERVATIONS_LEAST)
    return {
      findings: [],
      notYet: `The inventory is whole; ${reservations} of at least ${RESERVATIONS_LEAST} reservations so far.`,
    };
  const reason = `Every date from ${first} to ${last} in ${requests.length === 1 ? "one request" : `${requests.length} requests`}, and ${reservations} reservations.`;
  return { findings: [right(reason, ...requests)], notYet: "" };
}

/** A cold start that was closed as a backfill: its statement says what came, of whatever dates were named. */
function findingOf({ backfillId, complete, resources, hash }: SeenBackfill): Finding[] {
  const of = (wanted: Resource) => resources.find(({ resource }) => resource === wanted);
  const [inventories, reservations] = [of("inventories"), of("reservations")];
  const covered = inventories?.datesCovered ?? 0;
  const booked = reservations?.distinctRecords ?? 0;
  if (!complete || covered < DATES || booked < RESERVATIONS_LEAST) return [];
  return [
    right(
      `The backfill ${backfillId} is closed and complete: ${covered} dates and ${booked} reservations, by its statement (SHA-256 ${hash}).`,
    ),
  ];
}

/** What a hotel sends when it is connected: all that is known for the time ahead. */
export const coldStart: Step = {
  name: "cold-start",
  title: "A cold start",
  instruction: (on) => {
    const dates = datesOf(on);
    return `Send a hotel as if it were connected today: its inventory of every date from ${dates[0]} to ${dates.at(-1)} (${DATES} dates, none left out, in batches of ${DATES_A_REQUEST_LEAST} records or more), and ${RESERVATIONS_LEAST} reservations or more. Or send as much of any dates as a backfill, and close it with nothing missing.`;
  },
  judge: (evidence) => {
    const closed = evidence.backfills.flatMap(findingOf);
    if (closed.length > 0) return judgementOf(closed, "");
    const { findings, notYet } = judge(evidence);
    return judgementOf(findings, notYet);
  },
};
