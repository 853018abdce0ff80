import { randomUUID } from "node:crypto";
import type pg from "pg";
import { integerValue } from "#contract/decimal.ts";
import { findViolations, ViolationList } from "#contract/find-violations.ts";
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
import { isUuid, type Position, type PositionShape } from "../platform/http/position.ts";

/** Opens a backfill unless the client has $8 open. (Two at once may both find room for the last: the bound is against floods.) */
const insertBackfill = namedStatement(
  "insert-backfill",
  `insert into bellhop.backfill (backfill_id, client_id, client_code, property_code, bucket, manifest, note)
  select $1, $2, $3, $4, $5, $6, $7
  where (select count(*) from bellhop.backfill where client_id = $2 and state = 'o') < $8`,
);
const findBackfillStatement = readStatement(new URL("./sql/find-backfill.sql", import.meta.url));
const listBackfillsStatement = readStatement(new URL("./sql/list-backfills.sql", import.meta.url));

/** So many may a client have open at a time: one for each hotel that it connects in a week. */
const OPEN_MAX = 100;
/** Of the reason for which one is abandoned. */
export const WHY_CHARACTERS_MAX = 500;

/** Open: takes batches. Closed: it has its statement. Abandoned: its client or an operator ended it without one. */
type BackfillState = "open" | "closed" | "abandoned";

const STATES = { o: "open", c: "closed", a: "abandoned" } as const satisfies Record<string, BackfillState>;

/** Who stands by the statement. */
interface Signature {
  readonly side: "partner" | "operator";
  /** `client:<id>`, `cli:<user>` or `console:<operator>`. */
  readonly signedBy: string;
  readonly signedAt: string;
  readonly statementHash: string;
}

/** A cold start of one property as a session. Times are ISO 8601 UTC. */
export interface Backfill {
  readonly backfillId: string;
  readonly clientId: string;
  readonly bucket: number;
  readonly manifest: Manifest;
  readonly state: BackfillState;
  readonly openedAt: string;
  readonly endedAt: string | null;
  /** Of a closed one: requests up to this id are in the statement. */
  readonly countedTo: string | null;
  /** The very text that was hashed (JSON). */
  readonly statement: string | null;
  /** SHA-256 of the statement's bytes, in hexadecimal. */
  readonly statementHash: string | null;
  readonly signatures: readonly Signature[];
  readonly abandonedBy: string | null;
  readonly abandonedWhy: string | null;
}

interface Row {
  readonly backfill_id: string;
  readonly client_id: string;
  readonly client_code: string;
  readonly property_code: string;
  readonly bucket: number;
  readonly manifest: Pick<Manifest, "resources">;
  readonly note: string | null;
  readonly state: keyof typeof STATES;
  readonly opened_at: string;
  readonly ended_at: string | null;
  readonly counted_to: string | null;
  readonly statement: string | null;
  readonly statement_hash: string | null;
  readonly signatures: readonly Signature[];
  readonly abandoned_by: string | null;
  readonly abandoned_why: string | null;
}

function backfillOf(row: Row): Backfill {
  return {
    backfillId: row.backfill_id,
    clientId: row.client_id,
    bucket: row.bucket,
    manifest: {
      clientCode: row.client_code,
      propertyCode: row.property_code,
      resources: row.manifest.resources,
      note: row.note,
    },
    state: STATES[row.state],
    openedAt: row.opened_at,
    endedAt: row.ended_at,
    countedTo: row.counted_to,
    statement: row.statement,
    statementHash: row.statement_hash,
    signatures: row.signatures,
    abandonedBy: row.abandoned_by,
    abandonedWhy: row.abandoned_why,
  };
}

/**
 * Opens a backfill for a client that may send what the manifest names. Throws ServiceError `bellhop.backfill.TooManyOpen`
 * (429) where the client has a hundred open already.
 */
export async function openBackfill(pool: pg.Pool, clientId: string, manifest: Manifest): Promise<Backfill> {
  const { clientCode, propertyCode, resources, note } = manifest;
  const backfillId = randomUUID();
  const { rowCount } = await pool.query({
    ...insertBackfill,
    values: [
      backfillId,
      clientId,
      clientCode,
      propertyCode,
      bucketOf(clientCode, propertyCode),
      JSON.stringify({ resources }),
      note,
      OPEN_MAX,
    ],
  });
  if (rowCount === 0)
    throw new ServiceError("bellhop.backfill.TooManyOpen", {
      message: `This client has ${OPEN_MAX} backfills open; close one first.`,
      retryAfterSeconds: 60,
    });
  return requireBackfill(pool, backfillId, clientId);
}

/** A backfill by its id, of one client or (null) of any; undefined where there is none. */
export async function findBackfill(
  on: Queryable,
  backfillId: string,
  clientId: string | null,
): Promise<Backfill | undefined> {
  if (!isUuid(backfillId)) return undefined;
  const { rows } = await on.query<Row>({ ...findBackfillStatement, values: [backfillId, clientId] });
  return rows[0] && backfillOf(rows[0]);
}

/** As findBackfill; another client's is answered as one that does not exist: ids are not to be probed. */
export async function requireBackfill(
  on: Queryable,
  backfillId: string,
  clientId: string | null,
): Promise<Backfill> {
  const found = await findBackfill(on, backfillId.toLowerCase(), clientId);
  if (found === undefined) throw new ServiceError("bellhop.backfill.NotFound");
  return found;
}

/** When the last backfill of a page was opened, and its id. */
export const BACKFILL_POSITION: PositionShape = [
  (part) => typeof part === "string" && !Number.isNaN(Date.parse(part)),
  isUuid,
];

/** Which backfills are listed. */
interface BackfillFilter {
  readonly clientId: string | null;
  readonly state: BackfillState | null;
}

/** The next backfills of a list, newest first, and where it goes on. */
export async function listBackfills(
  on: Queryable,
  { clientId, state }: BackfillFilter,
  start: Position | null,
  limit: number,
): Promise<{ readonly items: readonly Backfill[]; readonly next: Position | null }> {
  const letter = state === null ? null : state[0];
  const { rows } = await on.query<Row>({
    ...listBackfillsStatement,
    values: [clientId, letter, start?.[0] ?? null, start?.[1] ?? null, limit + 1],
  });
  const items = rows.slice(0, limit).map(backfillOf);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? [last.openedAt, last.backfillId] : null };
}

/** Ten years and some days: whoever names more has most likely a wrong year. */
export const DAYS_MAX = 3_700;
const DAY_MS = 86_400_000;
const VIOLATIONS_MAX = 100;

/** What is coming of one resource: dates, both included, and how many different records. */
export interface ManifestResource {
  readonly resource: Resource;
  readonly from: string;
  readonly to: string;
  /** Null: nothing was said of it, and nothing can fall short of it. */
  readonly expectedRecords: number | null;
}

/** What a partner says is coming: of one property, each resource once. */
interface Manifest {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly resources: readonly ManifestResource[];
  readonly note: string | null;
}

const manifestResource = period("What is coming of one resource", ["from", "to"], {
  resource: word("The kind of the records", ["inventories", "reservations", "groups"]),
  from: date(
    "The first date that the records speak of; of inventories, the first occupancy date",
    "2024-07-01",
  ),
  to: date("The last of them, at most 3,700 days after the first", "2026-06-30"),
  expectedRecords: optional(
    count("How many different records there are (by occupancyDate, reservationId or groupCode)", 730),
  ),
});

/** The body of `POST /api/public/v1/backfills`: checked by it, and described by it in the OpenAPI document. */
export const manifestSchema = object("What a backfill is going to bring", {
  clientCode: identity("The client code of the property", "ACME"),
  propertyCode: identity("The property code", "PARIS01"),
  resources: list("What is coming; each resource once", manifestResource, 1),
  note: optional(text("A text of your own, which the closing statement repeats", "go-live July 2026")),
});

type SentManifest = ValueOf<typeof manifestSchema>;

/** Days from one date to another, both included. */
export function daysIn({ from, to }: Pick<ManifestResource, "from" | "to">): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

function invalid(violations: readonly Violation[], violationTotal = violations.length): ServiceError {
  return new ServiceError("bellhop.backfill.InvalidManifest", { violations, violationTotal });
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new ServiceError("bellhop.backfill.InvalidManifest", {
      message: "The manifest is not JSON in UTF-8.",
      cause,
    });
  }
}

/** What the schema cannot say: each resource once, a span that can be meant, a number that counts, nothing that cannot be stored. */
function furtherViolations({ resources, clientCode, propertyCode, note = "" }: SentManifest): Violation[] {
  const found: Violation[] = [];
  const seen = new Set<string>();
  for (const [name, value] of Object.entries({ clientCode, propertyCode, note })) {
    if (value.includes("\0"))
      found.push({
        pointer: `/${name}`,
        code: "text.nul",
        message: `${name} must not have the character NUL`,
      });
    else if (!value.isWellFormed())
      found.push({
        pointer: `/${name}`,
        code: "text.surrogate",
        message: `${name} must not have an unpaired surrogate`,
      });
  }
  for (const [at, named] of resources.entries()) {
    const pointer = `/resources/${at}`;
    if (seen.has(named.resource))
      found.push({
        pointer: `${pointer}/resource`,
        code: "enum",
        message: `resource must stand once; ${named.resource} stands before`,
      });
    seen.add(named.resource);
    if (daysIn(named) > DAYS_MAX)
      found.push({
        pointer: `${pointer}/to`,
        code: "order.dates",
        message: `to must be at most ${DAYS_MAX} days after from`,
      });
    if (named.expectedRecords !== undefined && (integerValue(named.expectedRecords) ?? 0) < 0)
      found.push({
        pointer: `${pointer}/expectedRecords`,
        code: "number.range",
        message: "expectedRecords must not be below 0",
      });
  }
  return found;
}

/**
 * Reads a manifest from the body that was sent. Throws ServiceError `bellhop.backfill.InvalidManifest` (400) with all that is
 * wrong with it; pointers are RFC 6901 into the manifest.
 *
 * @example
 * readManifest(Buffer.from('{"clientCode":"ACME","propertyCode":"PARIS01","resources":[{"resource":"inventories","from":"2024-07-01","to":"2026-06-30"}]}'))
 */
export function readManifest(body: Buffer): Manifest {
  const value = parse(body);
  const found = new ViolationList(0, VIOLATIONS_MAX, [], 0);
  found.path.length = 0;
  findViolations(manifestSchema, value, found);
  if (found.total > 0) throw invalid(found.kept, found.total);
  const sent = value as SentManifest;
  const further = furtherViolations(sent);
  if (further.length > 0) throw invalid(further.slice(0, VIOLATIONS_MAX), further.length);
  const order = (of: Resource) => RESOURCES.indexOf(of);
  return {
    clientCode: sent.clientCode,
    propertyCode: sent.propertyCode,
    resources: sent.resources
      .map(({ resource, from, to, expectedRecords }) => ({
        resource,
        from,
        to,
        expectedRecords: expectedRecords === undefined ? null : (integerValue(expectedRecords) ?? null),
      }))
      .sort((left, right) => order(left.resource) - order(right.resource)),
    note: sent.note ?? null,
  };
}
