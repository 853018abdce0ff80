import { addDays, datesFrom } from "#contract/dates.ts";
import type { Resource } from "#contract/resource.ts";
import type { Certification } from "../certification.ts";
import {
  type Evidence,
  type Finding,
  historiesOf,
  hotelOf,
  pending,
  right,
  type SeenBackfill,
  type Step,
  wrong,
} from "../step.ts";
import { longer } from "./longest.ts";

const DATES = 90;
/** Far enough ahead that no other step sends these dates. */
const STARTS_IN_DAYS = 30;
const RESERVATIONS_LEAST = 10;
/** A cold start must use large batches; one date per request would take 730 requests for two years. */
const DATES_A_REQUEST_LEAST = 5;

function datesOf({ openedAt }: Certification): string[] {
  return datesFrom(addDays(openedAt.slice(0, 10), STARTS_IN_DAYS), DATES);
}

function findingOfDates(evidence: Evidence): Finding {
  const dates = datesOf(evidence.certification);
  const [first = "", last = ""] = [dates[0], dates.at(-1)];
  const firsts = historiesOf(evidence, "inventories").flatMap(({ versions: [record] }) =>
    record !== undefined && dates.includes(record.key) ? record : [],
  );
  const seen = [...Map.groupBy(firsts, hotelOf).values()].reduce(longer, []);
  if (seen.length === 0) return pending(`No inventory from ${first} to ${last} has been received.`);
  const keys = new Set(seen.map(({ key }) => key));
  const missing = dates.filter((date) => !keys.has(date));
  const requests = [...new Set(seen.map(({ requestId }) => requestId))];
  if (missing.length > 0) {
    const listed = `${missing.slice(0, 5).join(", ")}${missing.length > 5 ? " …" : ""}`;
    if (!keys.has(last))
      return pending(`${seen.length} of ${DATES} dates so far; the next is ${missing[0]}.`);
    const reason = `${missing.length} of ${DATES} dates from ${first} to ${last} are missing: ${listed}. Send every date, including those without sales.`;
    return wrong(reason, ...requests);
  }
  if (seen.length / requests.length < DATES_A_REQUEST_LEAST) {
    const reason = `${seen.length} dates arrived in ${requests.length} requests. Send many records in one batch, up to 10,000.`;
    return wrong(reason, ...requests);
  }
  const reservations = historiesOf(evidence, "reservations").length;
  if (reservations < RESERVATIONS_LEAST)
    return pending(
      `The inventory is complete; ${reservations} of at least ${RESERVATIONS_LEAST} reservations so far.`,
    );
  const batches = requests.length === 1 ? "one request" : `${requests.length} requests`;
  const reason = `Every date from ${first} to ${last} in ${batches}, and ${reservations} reservations.`;
  return right(reason, ...requests);
}

/** A cold start closed as a backfill: its statement counts, whatever its announced dates. */
function findingOfBackfill({ backfillId, complete, resources, hash }: SeenBackfill): Finding[] {
  const of = (wanted: Resource) => resources.find(({ resource }) => resource === wanted);
  const covered = of("inventories")?.datesCovered ?? 0;
  const booked = of("reservations")?.distinctRecords ?? 0;
  const reason = `The backfill ${backfillId} is closed and complete: ${covered} dates and ${booked} reservations, by its statement (SHA-256 ${hash}).`;
  return complete && covered >= DATES && booked >= RESERVATIONS_LEAST ? [right(reason)] : [];
}

/** A hotel's initial load: all future data. */
export const coldStart: Step = {
  name: "cold-start",
  title: "A cold start",
  docs: "guides/cold-start#what-to-send",
  instruction: (on) => {
    const dates = datesOf(on);
    return `Send a hotel as if it were connected today: its inventory of every date from ${dates[0]} to ${dates.at(-1)} (${DATES} dates, in batches of at least ${DATES_A_REQUEST_LEAST} records), and at least ${RESERVATIONS_LEAST} reservations. Or send the same amount for any dates as a backfill, and close it without gaps.`;
  },
  notYet: "",
  find(evidence) {
    const closed = evidence.backfills.flatMap(findingOfBackfill);
    return closed.length > 0 ? closed : [findingOfDates(evidence)];
  },
};
