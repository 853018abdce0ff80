import { randomUUID } from "node:crypto";
import type pg from "pg";
import { bucketOf } from "../ingest/log/bucket.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import type { Manifest } from "./manifest.ts";

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
export type BackfillState = "open" | "closed" | "abandoned";

const STATES = { o: "open", c: "closed", a: "abandoned" } as const satisfies Record<string, BackfillState>;

/** Who stands by the statement. */
export interface Signature {
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
export interface BackfillFilter {
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
