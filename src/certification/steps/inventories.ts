import { addDays, datesFrom, daysBetween } from "#contract/dates.ts";
import type { Resource } from "#contract/resource.ts";
import type { Certification } from "../certification.ts";
import {
  type Evidence,
  type Finding,
  historiesOf,
  hotelOf,
  latestOf,
  pending,
  right,
  type SeenBackfill,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

/** The longest run of consecutive dates; `dates` are sorted. */
function longestRun(dates: readonly string[]): string[] {
  let run: string[] = [];
  let longest: string[] = [];
  for (const date of dates) {
    const before = run.at(-1);
    if (before !== undefined && date === addDays(before, 1)) run.push(date);
    else run = [date];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

const longer = <Of extends { readonly length: number }>(one: Of, other: Of): Of =>
  other.length > one.length ? other : one;

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

/** Error codes of a batch refused for a null or a number in an unaccepted form. */
const FORM_CODES: ReadonlySet<string> = new Set([
  "null",
  "type",
  "number.integer",
  "number.range",
  "number.decimal",
  "number.unsafe",
]);
const NULLABLE = ["multiReservationId", "cancellationDateTime", "cancellationReason"] as const;
/** Such as `129.90000000000001`: the rounding error of binary fractions. */
const LEFT_BY_BINARY = /^-?\d+\.\d{9,}$/;
const MONEY = /(?:Value|Rate|Revenue|Price|rate|ticketPrice)$/;
const NUMBER_AS_TEXT = /"(\w+)":"-?\d/g;
const MONEY_AS_TEXT = /^(?:rateValue|grossRateValue|grossTotalRevenue|net\w+)$|[tT]icketPrice$/;

/** Whether an amount of the record is a string. */
function hasMoneyAsText(fields: Readonly<Record<string, unknown>>): boolean {
  const members = JSON.stringify(fields).matchAll(NUMBER_AS_TEXT);
  return members.some(([, name = ""]) => MONEY_AS_TEXT.test(name));
}

/** The JSON pointer of a money value with a binary rounding error. */
function binaryFraction(value: unknown, pointer: string): string | undefined {
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

function fractionOf({ key, index, requestId, fields }: SeenRecord): Finding[] {
  const found = binaryFraction(fields, `/${index}`);
  const reason = `${key} has ${found}: an amount that was converted to binary floating point. Send decimals as exact strings.`;
  return found === undefined ? [] : [wrong(reason, requestId)];
}

function refusalsOf({ events }: Evidence): Finding[] {
  return eventsOf(events, "refused").flatMap(({ at, resource, violations }) => {
    const form = violations.find(({ code }) => FORM_CODES.has(code));
    const reason = `At ${at} a batch of ${resource} was refused: ${form?.message} (${form?.code} at ${form?.pointer}). null is accepted only where the specification shows it; omit other fields. A number is a JSON number or a string of digits.`;
    return form === undefined ? [] : wrong(reason);
  });
}

/** Specification section 2: null where the contract shows it; decimals as strings; quantities as numbers or numeric strings. */
export const nullAndNumbers: Step = {
  name: "null-and-numbers",
  title: "null and numbers",
  docs: "records#types",
  instruction: () =>
    `Send a reservation with null in a field that may be null and is empty (${NULLABLE.join(", ")}), amounts as decimal strings ("129.90") and quantities as numbers or strings of digits. No batch may be refused for a null or a number.`,
  notYet: "No reservation with null in a nullable field and amounts as decimal strings has been received.",
  find(evidence) {
    const reservations = latestOf(evidence, "reservations");
    const shown = reservations.filter(
      ({ fields }) => NULLABLE.some((name) => fields[name] === null) && hasMoneyAsText(fields),
    );
    return [
      ...refusalsOf(evidence),
      ...[...reservations, ...latestOf(evidence, "groups")].flatMap(fractionOf),
      ...shown.map(({ key, requestId }) =>
        right(`${key} has null in empty fields and amounts as strings.`, requestId),
      ),
    ];
  },
};

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
