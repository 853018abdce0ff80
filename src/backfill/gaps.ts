import { isCalendarDate } from "#contract/calendar.ts";
import type { Resource } from "#contract/resource.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { isIndex, isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import type { Backfill } from "./backfill.ts";
import { type FailedRecord, readFailedRecords } from "./failed-records.ts";
import { DAYS_MAX, daysIn, type ManifestResource } from "./manifest.ts";
import type { ResourceTally, Tally } from "./tally.ts";

const readMissingDates = readStatement(new URL("./sql/read-missing-dates.sql", import.meta.url));
const readMissingDatesAsOf = readStatement(new URL("./sql/read-missing-dates-as-of.sql", import.meta.url));

/** One gap between what was said to be coming and what has come. */
export type Gap =
  | {
      readonly kind: "records-short";
      readonly resource: Resource;
      readonly expected: number;
      readonly distinct: number;
      readonly missing: number;
    }
  | { readonly kind: "date-missing"; readonly resource: Resource; readonly date: string }
  | ({ readonly kind: "record-failed"; readonly resource: Resource } & FailedRecord);

/** What of a list of gaps was told last: the resource's place, the kind's place, and where in that. */
export const GAP_POSITION: PositionShape = [
  isIndex,
  (part) => typeof part === "number" && part >= 0 && part < STAGES,
  (part) => typeof part === "string" && (part === "" || isCalendarDate(part) || isUuid(part)),
  (part) => typeof part === "number" && Number.isInteger(part) && part >= -1 && part < 2 ** 31,
];

/** The kinds of gaps of a resource, in their order. */
const SHORT = 0;
const DATES = 1;
const FAILED = 2;
const STAGES = 3;

/** Whose gaps, as of when. `asOf` is null for now, else a settled request. */
export interface GapsAsked {
  readonly backfill: Backfill;
  readonly propertyId: number | null;
  readonly asOf: string | null;
  readonly upTo: string;
}

/** Dates of a resource's range that the property has no record of, whoever sent it; of inventories only, whose key is a date. */
export async function missingDates(
  client: Queryable,
  { backfill, propertyId, asOf }: GapsAsked,
  named: ManifestResource,
  after = "0001-01-01",
  limit = DAYS_MAX,
): Promise<string[]> {
  if (named.resource !== "inventories") return [];
  const of = [backfill.bucket, propertyId ?? -1, named.from, named.to];
  const statement =
    asOf === null
      ? { ...readMissingDates, values: [...of, after, limit] }
      : { ...readMissingDatesAsOf, values: [...of, asOf] };
  const { rows } = await client.query<{ date: string }>(statement);
  return asOf === null
    ? rows.map(({ date }) => date)
    : rows.flatMap(({ date }) => (date > after ? [date] : [])).slice(0, limit);
}

/** How many dates are named and how many of them have a record; nulls where a record has no one date. */
export async function coverageOf(
  client: Queryable,
  asked: GapsAsked,
  named: ManifestResource,
): Promise<{ readonly datesNamed: number | null; readonly datesCovered: number | null }> {
  if (named.resource !== "inventories") return { datesNamed: null, datesCovered: null };
  const datesNamed = daysIn(named);
  return { datesNamed, datesCovered: datesNamed - (await missingDates(client, asked, named)).length };
}

function shortOf({ resource, expectedRecords, distinctRecords, missingRecords }: ResourceTally): Gap[] {
  if (expectedRecords === null || missingRecords === null || missingRecords === 0) return [];
  const [expected, distinct, missing] = [expectedRecords, distinctRecords, missingRecords];
  return [{ kind: "records-short", resource, expected, distinct, missing }];
}

interface Told {
  readonly gap: Gap;
  readonly position: Position;
}

async function readStage(
  client: Queryable,
  asked: GapsAsked,
  of: ResourceTally,
  place: number,
  [, stage, text, index]: readonly [number, number, string, number],
  limit: number,
): Promise<Told[]> {
  const { resource } = of;
  if (stage === SHORT)
    return text === "" ? shortOf(of).map((gap) => ({ gap, position: [place, DATES, "", -1] })) : [];
  if (stage === DATES) {
    const dates = await missingDates(client, asked, of, text === "" ? undefined : text, limit);
    return dates.map((date) => ({
      gap: { kind: "date-missing", resource, date },
      position: [place, DATES, date, -1],
    }));
  }
  const failed = await readFailedRecords(
    client,
    { ...asked, resource },
    text === "" ? null : { requestId: text, index },
    limit,
  );
  return failed.map((record) => ({
    gap: { kind: "record-failed", resource, ...record },
    position: [place, FAILED, record.requestId, record.index],
  }));
}

/** The gaps of one page, and where the next goes on: by resource, and of each first what is short, then dates, then failed records. */
export async function readGaps(
  client: Queryable,
  asked: GapsAsked,
  tally: Tally,
  start: Position | null,
  limit: number,
): Promise<{ readonly items: readonly Gap[]; readonly next: Position | null }> {
  const told: Told[] = [];
  let [place, stage, text, index] = (start ?? [0, SHORT, "", -1]) as [number, number, string, number];
  for (
    let of = tally.resources[place];
    of !== undefined && told.length <= limit;
    of = tally.resources[place]
  ) {
    const wanted = limit + 1 - told.length;
    for (const one of await readStage(client, asked, of, place, [place, stage, text, index], wanted))
      told.push(one);
    [text, index] = ["", -1];
    stage += 1;
    if (stage < STAGES) continue;
    stage = SHORT;
    place += 1;
  }
  const page = told.slice(0, limit);
  const last = page.at(-1);
  return {
    items: page.map(({ gap }) => gap),
    next: told.length > limit && last !== undefined ? last.position : null,
  };
}
