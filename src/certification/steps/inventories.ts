import type { Resource } from "#contract/resource.ts";
import type { Certification } from "../certification.ts";
import { datesFrom, dayAfter, daysBetween } from "../fields.ts";
import {
  type Evidence,
  type Finding,
  historiesOf,
  judgementOf,
  right,
  type SeenBackfill,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

const DATES_LEAST = 7;
/** Overbooking is legal; these are slips. */
const SLIPS_OF_INVENTORY: ReadonlySet<string> = new Set([
  "inventory.sold-split",
  "inventory.room-type-repeated",
  "count.negative",
]);

/** What is doubtful in the newest version of each date. */
function slipsOf(latest: readonly SeenRecord[]): Finding[] {
  return latest.flatMap((record) => {
    const slip = record.warnings.find(({ code }) => SLIPS_OF_INVENTORY.has(code));
    if (slip === undefined) return [];
    const { key, index, requestId } = record;
    return wrong(
      `${key}: ${slip.message} (${slip.code} at /${index}${slip.pointer.replace(/^\/\d+/, "")}).`,
      requestId,
    );
  });
}

/** The longest run of dates of one hotel without a gap. */
function longestRun(latest: readonly SeenRecord[]): SeenRecord[] {
  const sorted = latest.toSorted((left, right) => {
    const one = `${left.clientCode}\0${left.propertyCode}\0${left.key}`;
    return one < `${right.clientCode}\0${right.propertyCode}\0${right.key}` ? -1 : 1;
  });
  let run: SeenRecord[] = [];
  let longest: SeenRecord[] = [];
  for (const record of sorted) {
    const before = run.at(-1);
    const follows =
      before !== undefined &&
      before.clientCode === record.clientCode &&
      before.propertyCode === record.propertyCode &&
      record.key === dayAfter(before.key, 1);
    run = follows ? [...run, record] : [record];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

function findingsOfInventory(evidence: Evidence): Finding[] {
  const latest = historiesOf(evidence, "inventories").map((history) => history.latest);
  const run = longestRun(latest);
  const findings = slipsOf(latest);
  const [first, last] = [run[0], run.at(-1)];
  if (first !== undefined && last !== undefined && run.length >= DATES_LEAST)
    findings.push(
      right(
        `${run.length} dates in a row from ${first.key} to ${last.key}, counts that add up.`,
        ...run.map(({ requestId }) => requestId),
      ),
    );
  return findings;
}

/** Specification section 2.1. */
export const inventory: Step = {
  name: "inventory",
  title: "Room inventory",
  instruction: ({ clientCode, propertyCode, openedAt }) => {
    const today = openedAt.slice(0, 10);
    return `Send the inventory of ${clientCode}/${propertyCode} for ${DATES_LEAST} dates in a row, such as ${today} to ${dayAfter(today, DATES_LEAST - 1)}: one record a date, every room type in each, transientSold + groupSold = roomsSold.`;
  },
  judge: (evidence) =>
    judgementOf(
      findingsOfInventory(evidence),
      `No ${DATES_LEAST} dates in a row of one property have been seen.`,
    ),
};

/** Why a batch is refused that has a null or a number in a form that is not taken. */
const FORM_CODES: ReadonlySet<string> = new Set([
  "null",
  "type",
  "number.integer",
  "number.range",
  "number.decimal",
  "number.unsafe",
]);
const NULLABLE = ["multiReservationId", "cancellationDateTime", "cancellationReason"] as const;
/** `129.90000000000001`: nobody's price, but what a sum of binary fractions leaves. */
const LEFT_BY_BINARY = /^-?\d+\.\d{9,}$/;
const MONEY = /(?:Value|Rate|Revenue|Price|rate|ticketPrice)$/;

/** A money value that went through binary floating point, and where it stands. */
function binaryFraction(value: unknown, pointer: string): string | undefined {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const found = binaryFraction(item, `${pointer}/${at}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      const found = binaryFraction(item, `${pointer}/${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const isMoney = MONEY.test(pointer) && (typeof value === "string" || typeof value === "number");
  return isMoney && LEFT_BY_BINARY.test(String(value)) ? `${value} at ${pointer}` : undefined;
}

function fractionsOf(evidence: Evidence): Finding[] {
  const latest = (["reservations", "groups"] as const).flatMap((resource) => historiesOf(evidence, resource));
  return latest.flatMap(({ latest: { key, index, requestId, fields } }) => {
    const found = binaryFraction(fields, `/${index}`);
    if (found === undefined) return [];
    return wrong(
      `${key} has ${found}: an amount that went through binary floating point. Send decimals as text, as they are.`,
      requestId,
    );
  });
}

function refusalsOf({ events }: Evidence): Finding[] {
  return eventsOf(events, "refused").flatMap(({ at, resource, violations }) => {
    const form = violations.find(({ code }) => FORM_CODES.has(code));
    if (form === undefined) return [];
    return wrong(
      `At ${at} a batch of ${resource} was refused: ${form.message} (${form.code} at ${form.pointer}). null stands only where the specification shows it; leave other fields out. A number is a JSON number or a text of digits.`,
    );
  });
}

function hasMoneyAsText({ fields }: SeenRecord): boolean {
  return /"(?:rateValue|grossRateValue|net\w+|\w*[tT]icketPrice|grossTotalRevenue)":"-?\d/.test(
    JSON.stringify(fields),
  );
}

function findingsOfNullAndNumbers(evidence: Evidence): Finding[] {
  const shown = historiesOf(evidence, "reservations").filter(
    ({ latest }) => NULLABLE.some((name) => latest.fields[name] === null) && hasMoneyAsText(latest),
  );
  return [
    ...refusalsOf(evidence),
    ...fractionsOf(evidence),
    ...shown.map(({ latest: { key, requestId } }) =>
      right(`${key} has null for what it has not, and its amounts as text.`, requestId),
    ),
  ];
}

/** Specification section 2: null where the contract shows it; decimals as text; quantities as numbers or numeric texts. */
export const nullAndNumbers: Step = {
  name: "null-and-numbers",
  title: "null and numbers in the forms that are taken",
  instruction: () =>
    `Send a reservation with null in a field that may be null and is empty (${NULLABLE.join(", ")}), amounts as decimal text ("129.90") and quantities as numbers or texts of digits. No batch may be refused for a null or a number.`,
  judge: (evidence) =>
    judgementOf(
      findingsOfNullAndNumbers(evidence),
      "No reservation with a null where it may stand and amounts as decimal text has been seen.",
    ),
};

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

interface DaysSeen {
  readonly finding?: Finding;
  readonly days: number;
}

/** The longest run of days without a gap. */
function longestRunOfDays(days: readonly string[]): string[] {
  let run: string[] = [];
  let longest: string[] = [];
  for (const day of days) {
    const before = run.at(-1);
    run = before !== undefined && day === dayAfter(before, 1) ? [...run, day] : [day];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

function judgeHotel({ nights, changes }: HotelDays): DaysSeen {
  const requests = [...nights.values(), ...changes.values()].map(({ requestId }) => requestId);
  const days = [...nights.keys()].sort();
  const run = longestRunOfDays(days);
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
function findingOfColdStart({ backfillId, complete, resources, hash }: SeenBackfill): Finding[] {
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
    const closed = evidence.backfills.flatMap(findingOfColdStart);
    if (closed.length > 0) return judgementOf(closed, "");
    const { findings, notYet } = judge(evidence);
    return judgementOf(findings, notYet);
  },
};
