import { randomUUID } from "node:crypto";
import type pg from "pg";
import { daysBetween } from "#contract/dates.ts";
import { integerValue } from "#contract/decimal.ts";
import { findViolations, ViolationList } from "#contract/field-kinds.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import {
  count,
  date,
  identity,
  list,
  object,
  optional,
  period,
  text,
  type ValueOf,
  word,
} from "#contract/schema/field.ts";
import type { Violation } from "#contract/violation.ts";
import { bucketOf } from "../ingest/log/part-name.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import {
  firstOf,
  isUuid,
  type ListPage,
  type Position,
  type PositionShape,
} from "../platform/http/position.ts";
import type { BackfillListItem, BackfillSignature } from "./console-answers.ts";

/** Opens a backfill unless the client has $8 open. Concurrent calls may exceed the limit, which only prevents floods. */
const INSERT = namedStatement(
  "insert-backfill",
  `insert into bellhop.backfill (backfill_id, client_id, client_code, property_code, bucket, manifest, note)
  select $1, $2, $3, $4, $5, $6, $7
  where (select count(*) from bellhop.backfill where client_id = $2 and state = 'o') < $8`,
);
const LIST = readStatement(new URL("./sql/list-backfills.sql", import.meta.url));

/** Open backfills per client: one for each hotel that it connects in a week. */
const OPEN_MAX = 100;
/** Limit of the reason for abandoning one. */
export const WHY_CHARACTERS_MAX = 500;

/** The initial load of one property. Times are ISO 8601 UTC. */
export interface Backfill {
  readonly backfillId: string;
  readonly clientId: string;
  readonly bucket: number;
  readonly manifest: Manifest;
  /** Open: accepts batches. Closed: has a statement. Abandoned: ended by its client or an operator without one. */
  readonly state: BackfillListItem["state"];
  readonly openedAt: string;
  readonly endedAt: string | null;
  /** If closed: requests up to this id are in the statement. */
  readonly countedTo: string | null;
  /** The text that was hashed (JSON). */
  readonly statement: string | null;
  /** SHA-256 of the statement's bytes, in hexadecimal. */
  readonly statementHash: string | null;
  readonly signatures: readonly BackfillSignature[];
  readonly abandonedBy: string | null;
  readonly abandonedWhy: string | null;
}

/** Opens a backfill for a client. Throws ServiceError `bellhop.backfill.TooManyOpen` (429) at the limit. */
export async function openBackfill(pool: pg.Pool, clientId: string, manifest: Manifest): Promise<Backfill> {
  const { clientCode, propertyCode, resources, note } = manifest;
  const backfillId = randomUUID();
  const bucket = bucketOf(clientCode, propertyCode);
  const property = [clientCode, propertyCode, bucket];
  const values = [backfillId, clientId, ...property, JSON.stringify({ resources }), note, OPEN_MAX];
  const { rowCount } = await pool.query({ ...INSERT, values });
  if (rowCount === 0)
    throw new ServiceError("bellhop.backfill.TooManyOpen", {
      message: `This client has ${OPEN_MAX} backfills open; close one first.`,
      retryAfterSeconds: 60,
    });
  return requireBackfill(pool, backfillId, clientId);
}

/** A backfill by id, of one client or (null) of any; undefined if there is none. */
export async function findBackfill(
  on: Queryable,
  backfillId: string,
  clientId: string | null,
): Promise<Backfill | undefined> {
  if (!isUuid(backfillId)) return undefined;
  return (await on.query<Backfill>({ ...LIST, values: [clientId, null, backfillId, null, null, 1, null] }))
    .rows[0];
}

/** As findBackfill, but throws. Another client's id gets the same error as an unknown one, so that ids cannot be probed. */
export async function requireBackfill(
  on: Queryable,
  backfillId: string,
  clientId: string | null,
): Promise<Backfill> {
  const found = await findBackfill(on, backfillId.toLowerCase(), clientId);
  if (found === undefined) throw new ServiceError("bellhop.backfill.NotFound");
  return found;
}

/** Position: when the last backfill of a page was opened, and its id. */
export const BACKFILL_POSITION: PositionShape = [
  (part) => typeof part === "string" && !Number.isNaN(Date.parse(part)),
  isUuid,
];

interface BackfillFilter {
  readonly clientId: string | null;
  readonly state: Backfill["state"] | null;
  /** Only of these properties (`Scope.keys`). */
  readonly within?: readonly string[] | null;
}

/** One page of backfills, newest first; a null filter selects all. */
export async function listBackfills(
  on: Queryable,
  filter: BackfillFilter,
  start: Position | null,
  limit: number,
): Promise<ListPage<Backfill>> {
  const letter = filter.state?.[0] ?? null;
  const { clientId, within = null } = filter;
  const values = [clientId, letter, null, start?.[0] ?? null, start?.[1] ?? null, limit + 1, within];
  const { rows } = await on.query<Backfill>({ ...LIST, values });
  return firstOf(rows, limit, ({ openedAt, backfillId }) => [openedAt, backfillId]);
}

/** About ten years: a longer span probably has a wrong year. */
export const DAYS_MAX = 3_700;
const VIOLATIONS_MAX = 100;

/** A range of dates, inclusive. */
export interface DateRange {
  readonly from: string;
  readonly to: string;
}

/** The announced dates of one resource, and its number of distinct records. */
export interface ManifestResource extends DateRange {
  readonly resource: Resource;
  /** Null: not announced, so no number can be missing. */
  readonly expectedRecords: number | null;
}

/** A partner's announcement for one property, each resource once. */
interface Manifest {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly resources: readonly ManifestResource[];
  readonly note: string | null;
}

const manifestResource = period("The data of one resource", ["from", "to"], {
  resource: word("The kind of the records", ["inventories", "reservations", "groups"]),
  from: date("The first date of the records; for inventories, the first occupancy date", "2024-07-01"),
  to: date("The last date, at most 3,700 days after the first", "2026-06-30"),
  expectedRecords: optional(
    count("The number of distinct records (by occupancyDate, reservationId or groupCode)", 730),
  ),
});

/** The body of `POST /api/public/v1/backfills`: validates it and describes it in the OpenAPI document. */
export const manifestSchema = object("The data that a backfill will load", {
  clientCode: identity("The client code of the property", "ACME"),
  propertyCode: identity("The property code", "PARIS01"),
  resources: list("The resources to load, each once", manifestResource, { itemsMin: 1 }),
  note: optional(text("A note of your own, which the closing statement repeats", "go-live July 2026")),
});

type SentManifest = ValueOf<typeof manifestSchema>;

export function daysIn({ from, to }: DateRange): number {
  return daysBetween(from, to) + 1;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    const message = "The manifest is not JSON in UTF-8.";
    throw new ServiceError("bellhop.backfill.InvalidManifest", { message, cause });
  }
}

/** Violations beyond the schema: repeated resources, long spans, negative counts, unstorable text. */
function furtherViolations({ resources, clientCode, propertyCode, note = "" }: SentManifest): Violation[] {
  const found: Violation[] = [];
  const add = (pointer: string, code: Violation["code"], message: string) =>
    found.push({ pointer, code, message });
  const seen = new Set<string>();
  for (const [name, value] of Object.entries({ clientCode, propertyCode, note })) {
    if (value.includes("\0")) add(`/${name}`, "text.nul", `${name} must not have the character NUL`);
    else if (!value.isWellFormed())
      add(`/${name}`, "text.surrogate", `${name} must not have an unpaired surrogate`);
  }
  for (const [at, named] of resources.entries()) {
    const pointer = `/resources/${at}`;
    const { resource, expectedRecords } = named;
    if (seen.has(resource))
      add(`${pointer}/resource`, "enum", `resource must be unique; ${resource} is repeated`);
    seen.add(resource);
    if (daysIn(named) > DAYS_MAX)
      add(`${pointer}/to`, "order.dates", `to must be at most ${DAYS_MAX} days after from`);
    if (expectedRecords !== undefined && (integerValue(expectedRecords) ?? 0) < 0)
      add(`${pointer}/expectedRecords`, "number.range", "expectedRecords must not be below 0");
  }
  return found;
}

/**
 * Reads a manifest from a request body. Throws ServiceError `bellhop.backfill.InvalidManifest` (400) with all its violations;
 * pointers are RFC 6901 into the manifest.
 *
 * @example
 * readManifest(Buffer.from('{"clientCode":"ACME","propertyCode":"PARIS01","resources":[{"resource":"inventories","from":"2024-07-01","to":"2026-06-30"}]}'))
 */
export function readManifest(body: Buffer): Manifest {
  const value = parse(body);
  const found = new ViolationList(0, VIOLATIONS_MAX, [], 0, undefined, "the manifest");
  found.path.length = 0;
  findViolations(manifestSchema, value, found, "required");
  const sent = value as SentManifest;
  const further = found.total > 0 ? [] : furtherViolations(sent);
  const violationTotal = found.total + further.length;
  const violations = [...found.kept, ...further].slice(0, VIOLATIONS_MAX);
  if (violationTotal > 0)
    throw new ServiceError("bellhop.backfill.InvalidManifest", { violations, violationTotal });
  const { clientCode, propertyCode, note = null } = sent;
  const read = sent.resources.map(({ resource, from, to, expectedRecords }) => {
    const expected = expectedRecords === undefined ? null : (integerValue(expectedRecords) ?? null);
    return { resource, from, to, expectedRecords: expected };
  });
  const order = (of: ManifestResource) => RESOURCES.indexOf(of.resource);
  const resources = read.sort((left, right) => order(left) - order(right));
  return { clientCode, propertyCode, resources, note };
}
