import type pg from "pg";
import { ERASED } from "#contract/redact-record.ts";
import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { Violation } from "#contract/violation.ts";
import { type LogPart, type LogRow, partOf, readLog } from "../apply/backlog.ts";
import { LeaseStatements } from "../apply/leases.ts";
import { openLayout } from "../ingest/log/open-layout.ts";
import { ID_HIGHEST, ID_LOWEST, type StoredBody } from "../ingest/log/part-name.ts";
import {
  type RecordRewrite,
  replaceBody,
  rewriteBody,
  type StoredRecord,
} from "../ingest/log/rewrite-body.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";

/** The log writers with entries in a bucket. Skips along the log's key, as there may be thousands of rows of each. */
const findLogWriters = namedStatement(
  "find-log-writers-of-bucket",
  `with recursive found (log_writer_id) as (
    (select log_writer_id from bellhop.accept_log where bucket = $1 order by log_writer_id limit 1)
    union all
    select (
      select log.log_writer_id from bellhop.accept_log as log
      where log.bucket = $1 and log.log_writer_id > found.log_writer_id order by log.log_writer_id limit 1
    )
    from found where found.log_writer_id is not null
  )
  select log_writer_id::text as log_writer_id from found where log_writer_id is not null order by found.log_writer_id`,
);
/** Parts per read. A batch has at most 64 MiB, stored a tenth of that. */
const PARTS_AT_ONCE = 16;

/** Bytes read before yielding to the event loop: about a millisecond. */
const TURN_BYTES = 131_072;

/** Primary key of a part of the log. */
export interface PartKey {
  readonly bucket: number;
  readonly logWriterId: string;
  readonly requestId: string;
}

/** A part of the log with its records as stored, by index; deleted records are omitted. */
export interface ScannedPart {
  readonly key: PartKey;
  readonly resource: Resource;
  readonly records: readonly ScannedRecord[];
}

export interface ScannedRecord {
  readonly index: number;
  readonly bytes: Buffer;
  /** The record's content hash if it is not the hash of its bytes. */
  readonly hashOverride: string | undefined;
  readonly isRejected: boolean;
}

async function scanPart(part: LogPart): Promise<ScannedPart> {
  const { bucket, logWriterId, requestId, layout, body } = part;
  const records: ScannedRecord[] = [];
  if (layout !== null && body !== null) {
    const opened = await openLayout(part, layout);
    let position = -1;
    for (const { index, bytes } of opened.allRecords(body)) {
      position += 1;
      const isRejected = part.rejectedIndexes.has(index);
      if (bytes.length > 0)
        records.push({ index, bytes, hashOverride: opened.hashOverrideAt(position), isRejected });
    }
  }
  return { key: { bucket, logWriterId, requestId }, resource: resourceOf(part.resource), records };
}

/** A search in the log of one bucket. */
export interface LogSearch<Found> {
  readonly bucket: number;
  readonly resources: readonly ResourceLetter[];
  find(part: ScannedPart): readonly Found[];
}

/**
 * Searches the log of one bucket, by log writer and in order of receipt. Advances `positions`, so that a later search continues from there.
 * Holds few parts in memory and yields to the event loop.
 */
export async function searchLog<Found>(
  client: Queryable,
  { bucket, resources, find }: LogSearch<Found>,
  positions = new Map<string, string>(),
): Promise<Found[]> {
  const found: Found[] = [];
  let sinceTurn = 0;
  const logWriters = await client.query<{ log_writer_id: string }>({ ...findLogWriters, values: [bucket] });
  for (const { log_writer_id: logWriterId } of logWriters.rows) {
    for (;;) {
      const from_id = positions.get(logWriterId) ?? ID_LOWEST;
      const stretch = { log_writer_id: logWriterId, from_id, request_id: ID_HIGHEST };
      const read = await readLog(client, bucket, [stretch], { partsMax: PARTS_AT_ONCE, resources });
      if (read.length === 0) break;
      for (const { part } of read) {
        const scanned = await scanPart(part);
        for (const one of find(scanned)) found.push(one);
        positions.set(logWriterId, part.requestId);
        sinceTurn += scanned.records.reduce((bytes, record) => bytes + record.bytes.length, 0);
        if (sinceTurn < TURN_BYTES) continue;
        sinceTurn = 0;
        await new Promise((resume) => setImmediate(resume));
      }
    }
  }
  return found;
}

const endLease = namedStatement(
  "end-lease",
  `update bellhop.bucket_lease set epoch = epoch + 1, owner = null, backend_pid = null, backend_start = null
  where bucket = $1`,
);

/**
 * Rewrites what a search finds, in one transaction: searches while traffic continues, then, under the bucket's lease, only what arrived
 * meanwhile. The lease ends with the transaction, so the next applier reads the rewritten log and the redaction list; other sessions see
 * all of it rewritten or none.
 */
export async function rewriteFound<Found, Result>(
  client: pg.ClientBase,
  search: LogSearch<Found>,
  rewrite: (found: readonly Found[]) => Promise<Result>,
): Promise<Result> {
  const positions = new Map<string, string>();
  const before = await searchLog(client, search, positions);
  return withTransaction(client, async () => {
    await new LeaseStatements(client).holdLeases([search.bucket]);
    await client.query({ ...endLease, values: [search.bucket] });
    return rewrite([...before, ...(await searchLog(client, search, positions))]);
  });
}

/** Locks a part of the log against other rewrites until the transaction ends. */
const lockPart = namedStatement(
  "lock-part",
  `select layout, body
  from bellhop.accept_log
  where bucket = $1 and log_writer_id = $2 and request_id = $3 and layout is not null and body is not null
  for update`,
);

/**
 * Rewrites the records of one part of the log in the caller's transaction. Its key and the indexes and order of its records do not change,
 * so that pointers, cursors and outcomes stay valid. Calls `decide` for every record not dropped before, including rejected ones. A record
 * with changed bytes keeps its former content hash as an override. Returns false if nothing changed, the part is gone, or it has no records
 * (a release or discard).
 */
export async function rewritePart(
  client: pg.ClientBase,
  part: PartKey,
  decide: (record: StoredRecord) => RecordRewrite,
): Promise<boolean> {
  const key = [part.bucket, part.logWriterId, part.requestId];
  const { rows } = await client.query<StoredBody>({ ...lockPart, values: key });
  const [stored] = rows;
  const rewritten = stored === undefined ? undefined : await rewriteBody(part, stored, decide);
  if (rewritten === undefined) return false;
  await client.query({ ...replaceBody, values: [...key, rewritten.layout, rewritten.body] });
  return true;
}

/** The next batches after $1 with rejected records, which lie in one part of each batch. */
const findRejecting = namedStatement(
  "find-rejecting-parts",
  `select bucket, log_writer_id::text as log_writer_id, request_id, kind, resource, received_at, target_request_id, target_index,
    client_id, rejections, layout, body
  from bellhop.accept_log
  where request_id > $1 and rejections is not null
  order by request_id
  limit $2`,
);
const writeRejections = namedStatement(
  "write-rejections",
  `update bellhop.accept_log set rejections = $4 where bucket = $1 and log_writer_id = $2 and request_id = $3`,
);

interface Rejection {
  readonly index: number;
  readonly violations: readonly Violation[];
  readonly violationTotal: number;
  readonly clientCode?: string;
  readonly propertyCode?: string;
}

type RejectingRow = Omit<LogRow, "rejections"> & {
  readonly client_id: string;
  readonly rejections: Rejection[];
};

/** Returns the new bytes of a rejected record that a client sent, or whether to `drop` or `keep` it. */
type RewriteRejected = (resource: Resource, bytes: Buffer, clientId: string) => Buffer | "drop" | "keep";

/**
 * The violations of a record without texts that may quote it; keeps codes and counts, and the property unless the record is dropped: a part
 * that is applied later counts it in the property's feed.
 */
function withoutQuotes(of: Rejection, left: Buffer | "drop"): Rejection {
  const { index, violationTotal } = of;
  const violations = of.violations.map(({ code }) => ({ pointer: `/${index}`, code, message: ERASED }));
  return left === "drop" ? { index, violations, violationTotal } : { ...of, violations };
}

async function rewriteIn(
  client: pg.ClientBase,
  row: RejectingRow,
  rewrite: RewriteRejected,
): Promise<number> {
  const { key, resource, records } = await scanPart(partOf(row));
  const rewritten = new Map<number, Buffer | "drop">();
  for (const { index, bytes, isRejected } of records) {
    const left = isRejected ? rewrite(resource, bytes, row.client_id) : "keep";
    if (left !== "keep") rewritten.set(index, left);
  }
  if (rewritten.size === 0) return 0;
  const rejections = row.rejections.map((one) => {
    const left = rewritten.get(one.index);
    return left === undefined ? one : withoutQuotes(one, left);
  });
  const { bucket, logWriterId, requestId } = key;
  await withTransaction(client, async () => {
    await rewritePart(client, key, ({ index }) => {
      const left = rewritten.get(index) ?? "keep";
      return typeof left === "string" ? left : { bytes: left, contentHash: undefined };
    });
    const values = [bucket, logWriterId, requestId, JSON.stringify(rejections)];
    await client.query({ ...writeRejections, values });
  });
  return rewritten.size;
}

/**
 * Rewrites rejected records of lenient batches and their violations. A rejected record lies in the first part of its batch, in any bucket,
 * so all parts with rejections are read. Returns how many were rewritten.
 */
export async function rewriteRejected(client: pg.ClientBase, rewrite: RewriteRejected): Promise<number> {
  let count = 0;
  for (let after = ID_LOWEST; ; ) {
    const { rows } = await client.query<RejectingRow>({ ...findRejecting, values: [after, PARTS_AT_ONCE] });
    for (const row of rows) count += await rewriteIn(client, row, rewrite);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PARTS_AT_ONCE) return count;
    after = last.request_id;
  }
}

/** Clears statistics of an empty table, which ANALYZE would keep. Requires PostgreSQL 18. */
const CLEAR_ALL = `
  select pg_clear_attribute_stats(schemaname, tablename, attname, inherited)
  from pg_stats
  where format('%I.%I', schemaname, tablename)::regclass in (
    select relid from unnest($1::text[]) as named (name), pg_partition_tree(named.name::regclass)
    union all select name::regclass from unnest($1::text[]) as named (name)
  )`;

const LOG = "bellhop.accept_log";

/**
 * Columns of the log except those for sent data: a node that does not know of an erasure yet may have written data there that is redacted
 * when applied.
 */
const LOG_COLUMNS = `
  select string_agg(quote_ident(attname), ', ' order by attnum) as columns
  from pg_attribute
  where attrelid = '${LOG}'::regclass and attnum > 0 and not attisdropped
    and atttypid not in ('bytea'::regtype, 'json'::regtype) and attname not in ('correlation_id', 'reply_to')`;

/**
 * Refreshes or clears planner statistics of these tables, which may contain deleted values among the most common ones. `tables` are
 * qualified and quoted.
 */
export async function clearStatistics(client: pg.ClientBase, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return;
  const { rows } = await client.query<{ canClear: boolean }>(
    `select to_regproc('pg_clear_attribute_stats') is not null as "canClear"`,
  );
  if (rows[0]?.canClear !== true) {
    await client.query(`analyze ${tables.join(", ")}`);
    return;
  }
  await client.query(CLEAR_ALL, [tables]);
  const log = await client.query<{ columns: string }>(LOG_COLUMNS);
  const analysed = tables.map((table) =>
    table === LOG ? `${table} (${log.rows[0]?.columns ?? ""})` : table,
  );
  await client.query(`analyze ${analysed.join(", ")}`);
}
