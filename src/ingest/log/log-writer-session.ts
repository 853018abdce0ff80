import pg from "pg";
import {
  endWithClient,
  openSession,
  type StatementWatch,
  watchStatements,
  withSession,
} from "../../platform/db/connection.ts";
import {
  type BucketServer,
  type FlushAnswer,
  LOG_WRITER_SESSION,
  type LogWriterBirth,
  type LogWriterStatements,
  logWriterStatements,
  MAY_FLUSH,
  placesKeys,
} from "../../platform/db/dialect.ts";
import { composeText, namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { ErrorDetail } from "../../platform/errors/registry.ts";
import { bucketOf, isoOfMicroseconds, microsecondsOf } from "./part-name.ts";
import { ensurePartitions } from "./partitions.ts";
import { encryptBody, type PayloadKey, packBody, type RecordSlice } from "./stored-body.ts";

/** One record of a submission that is to be accepted or kept as rejected: where it lies in `body`, and whose it is. */
export interface SubmittedRecord extends RecordSlice {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** A record refused in a lenient batch: kept as sent, with its first violations (at most 10) and how many there were. */
export interface RejectedRecord extends RecordSlice {
  readonly violations: readonly ErrorDetail[];
  readonly violationTotal: number;
}

/** A checked batch, ready to be written. `body` is the decompressed JSON as received. */
export interface Submission {
  readonly clientId: string;
  readonly resource: "i" | "r" | "g";
  readonly body: Buffer;
  /** At least one, ascending by index. */
  readonly records: readonly SubmittedRecord[];
  readonly rejected: readonly RejectedRecord[];
  readonly lenient: boolean;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  /** The backfill that the batch belongs to. */
  readonly backfillId?: string | null;
  /** The span that it is accepted in, packed (src/platform/telemetry/telemetry.ts), where it is traced. */
  readonly traceContext?: string | undefined;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /**
   * Called when nothing refers to `body` any more, before the batch is written, with the bytes that were made of it and wait
   * for that. What it throws refuses the batch.
   */
  readonly packed?: (bytes: number) => void;
}

/** An operator's word on a quarantined record, itself an entry of the log so that a replay takes the same decisions. */
export interface Resolution {
  readonly kind: "release" | "discard";
  readonly operator: string;
  readonly bucket: number;
  readonly resource: "i" | "r" | "g";
  readonly requestId: string;
  readonly index: number;
}

/**
 * One row of the log to be, without the id that its log writer stamps at the flush. Fields that are undefined stay out of the
 * JSON in which rows travel, and are null in the row.
 */
export interface LogEntry {
  readonly bucket: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** What is wrong with the rejected records among its own, as JSON. */
  readonly rejections: Buffer | null;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

/** What one flush may carry of one request: its rows, and the key it claims. */
export interface PendingAppend {
  readonly entries: readonly LogEntry[];
  readonly bytes: number;
  readonly clientId: string;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
}

function splitByBucket(submission: Submission): Map<number, RecordSlice[]> {
  const parts = new Map<number, RecordSlice[]>();
  let last: SubmittedRecord | undefined;
  let part: RecordSlice[] = [];
  for (const record of submission.records) {
    // Most batches name one property: its bucket is looked up once.
    if (last?.clientCode !== record.clientCode || last.propertyCode !== record.propertyCode) {
      const bucket = bucketOf(record.clientCode, record.propertyCode);
      part = parts.get(bucket) ?? [];
      parts.set(bucket, part);
      last = record;
    }
    part.push(record);
  }
  return parts;
}

/** As it is stored, so that a flush of which it is part neither writes nor parses it within its own JSON: it may be megabytes. */
function rejectionsOf(rejected: Submission["rejected"]): Buffer | null {
  if (rejected.length === 0) return null;
  const reported = rejected.map(({ index, violations, violationTotal }) => ({
    index,
    violations,
    violationTotal,
  }));
  return Buffer.from(JSON.stringify(reported));
}

function bytesOf({ rejections, layout, body }: LogEntry): number {
  return (rejections?.length ?? 0) + (layout?.length ?? 0) + (body?.length ?? 0);
}

/**
 * Splits a submission into one entry a bucket, ascending by bucket (so that flushes take locks in one order).
 * Rejected records lie in the first entry beside the accepted ones; `rejections` says which they are.
 */
export function entriesOf(submission: Submission): PendingAppend {
  const parts = [...splitByBucket(submission)].sort(([left], [right]) => left - right);
  const entries = parts.map(([bucket, slices], at): LogEntry => {
    const rejected = at === 0 ? submission.rejected : [];
    const kept =
      rejected.length === 0
        ? slices
        : [...slices, ...rejected].sort((left, right) => left.index - right.index);
    return {
      bucket,
      fields: {
        bucket,
        kind: "b",
        resource: submission.resource,
        client_id: submission.clientId,
        record_count: slices.length,
        batch_record_count: submission.records.length + submission.rejected.length,
        batch_part_count: parts.length,
        lenient: submission.lenient,
        correlation_id: submission.correlationId ?? undefined,
        reply_to: submission.replyTo ?? undefined,
        backfill_id: submission.backfillId ?? undefined,
        trace_context: submission.traceContext ?? undefined,
      },
      rejections: rejectionsOf(rejected),
      ...packBody(submission.body, kept),
    };
  });
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  return { entries, bytes, clientId: submission.clientId, idempotency: submission.idempotency };
}

export function entryOfResolution(resolution: Resolution): PendingAppend {
  const fields = {
    bucket: resolution.bucket,
    kind: resolution.kind === "release" ? "r" : "d",
    resource: resolution.resource,
    client_id: resolution.operator,
    record_count: 1,
    batch_record_count: 1,
    batch_part_count: 1,
    lenient: false,
    target_request_id: resolution.requestId,
    target_index: resolution.index,
  };
  return {
    entries: [{ bucket: resolution.bucket, fields, rejections: null, layout: null, body: null }],
    bytes: 256,
    clientId: resolution.operator,
    idempotency: null,
  };
}

/** An entry's records as they are stored under the id stamped for it: encrypted where there is a key for that. */
function storedOf(
  { bucket, layout, body }: LogEntry,
  requestId: string,
  key: PayloadKey | undefined,
): Pick<LogEntry, "layout" | "body"> {
  if (layout === null || body === null || key === undefined) return { layout, body };
  return encryptBody({ layout, body }, { bucket, requestId }, key);
}

/**
 * The two parameters of sql/append-entries.sql for the appends of one flush, each with the id stamped for it. `key`: what
 * their records are encrypted with; `keyBucketOf`: where an Idempotency-Key lies.
 */
function flushParameters(
  logWriterId: string,
  stamped: readonly { readonly append: PendingAppend; readonly requestId: string }[],
  key: PayloadKey | undefined,
  keyBucketOf: (append: PendingAppend) => number,
): [string, Buffer] {
  const rows: Record<string, unknown>[] = [];
  const pieces: Buffer[] = [];
  let at = 1;
  const place = (bytes: Buffer | null): { from?: number; bytes?: number } => {
    if (bytes === null) return {};
    const from = at;
    pieces.push(bytes);
    at += bytes.length;
    return { from, bytes: bytes.length };
  };
  for (const { append, requestId } of stamped) {
    for (const entry of append.entries) {
      const stored = storedOf(entry, requestId, key);
      const rejections = place(entry.rejections);
      const layout = place(stored.layout);
      const body = place(stored.body);
      rows.push({
        ...entry.fields,
        log_writer_id: logWriterId,
        request_id: requestId,
        received_at: isoOfMicroseconds(microsecondsOf(requestId)),
        rejections_from: rejections.from,
        rejections_bytes: rejections.bytes,
        layout_from: layout.from,
        layout_bytes: layout.bytes,
        body_from: body.from,
        body_bytes: body.bytes,
        ...(append.idempotency !== null && {
          key: append.idempotency.key,
          key_bucket: keyBucketOf(append),
          fingerprint: append.idempotency.fingerprint,
        }),
      });
    }
  }
  return [JSON.stringify(rows), Buffer.concat(pieces)];
}

/** SQLSTATE of an append whose ids are at or below what was promised: division by zero. */
export const PROMISED = "22012";

export interface StampedAppend {
  readonly append: PendingAppend;
  readonly requestId: string;
}

export interface HeldKey {
  readonly client_id: string;
  readonly key: string;
  readonly request_id: string;
  readonly fingerprint: string;
}

/**
 * What a log writer asks of the database: one connection, statement by statement. Every promise rejects with what the database
 * answered (with its SQLSTATE as `code`), or with another error when there was no answer. PostgreSQL's is below, that
 * of a simulation in test/simulation.
 */
export interface LogWriterSession {
  /** Begins the transaction in which the log writer is born, and waits until no other is being born. */
  beginBirth(): Promise<unknown>;
  /** Undefined when the database does not show this connection. */
  register(): Promise<LogWriterBirth | undefined>;
  commit(): Promise<unknown>;
  /** Makes the log's partitions for this time and what follows. */
  makePartitions(atMs: number): Promise<void>;
  /** Writes a flush as one transaction; rows whose Idempotency-Key another request holds are left out. */
  append(logWriterId: string, stamped: readonly StampedAppend[]): Promise<FlushAnswer>;
  /** The closed timestamp: an append with an id at or below it fails with PROMISED. */
  readPromise(): Promise<string | undefined>;
  /** `bucket`: the first one of the batch that wants the key. */
  readHeldKeys(
    wanted: readonly {
      readonly client_id: string;
      readonly key: string | undefined;
      readonly bucket: number;
    }[],
  ): Promise<{ readonly rows: readonly HeldKey[] }>;
  close(): Promise<void>;
}

/** Opens a session; `lost` is called when it ends, perhaps more than once. */
export type OpenLogWriterSession = (lost: (error: unknown) => void) => Promise<LogWriterSession>;

/** The newest id of the log is the floor of a new log writer: it never stamps at or below it. $1: whether it is for backfills. */
const registerLogWriter = namedStatement(
  "register-log-writer",
  `with born as (
    insert into bellhop.log_writer (backend_pid, backend_start, is_backfill)
    select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
    returning log_writer_id
  )
  select
    log_writer_id::text,
    (select request_id from bellhop.accept_log order by request_id desc limit 1) as floor,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
  from born`,
);
const APPEND = new URL("./sql/append-entries.sql", import.meta.url);
const appendEntries = readStatement(APPEND, {
  promised: "select promised from bellhop.closed_timestamp",
  "may-write": "true",
});
/** At a server that has some of the buckets: $3 is the shard that the flush holds there. */
const appendEntriesAtServer = {
  ...appendEntries,
  text: composeText(APPEND, {
    promised:
      "select promise.promised from bellhop.bucket_closed_timestamp as promise where promise.bucket = e.bucket",
    "may-write": MAY_FLUSH,
  }),
};
/** At or below it no id is taken any more. */
const readPromise = namedStatement(
  "read-promise",
  "select promised::text as promised from bellhop.closed_timestamp",
);
/** The holders of the keys that a flush could not claim. */
const readIdempotencyKeys = namedStatement(
  "read-idempotency-keys",
  `select held.client_id, held.key, held.request_id, encode(held.fingerprint, 'hex') as fingerprint
  from json_to_recordset($1::json) as wanted (client_id text, key text, bucket smallint)
  join bellhop.idempotency_key as held
    on held.client_id = wanted.client_id and held.key = wanted.key and held.bucket = wanted.bucket`,
);

/** Advisory lock held while a log writer is born, so that floors are taken one after another. */
const LOG_WRITER_BIRTH_LOCK = 7_302_003;
/** A flush that takes longer has an unknown outcome: its connection, and so its log writer, is given up. */
const FLUSH_TIMEOUT_MS = 20_000;
/**
 * What is accepted got its id no longer ago. No sum of timeouts: it may have been flushed twice, with windows made in between, and on
 * Citus a flush is several statements.
 */
export const ACCEPTING_MS_MAX = 300_000;

/** The key that records are encrypted with from now on; undefined where they are stored readable. */
export type CurrentKey = () => PayloadKey | undefined;

/** How log writers write; by default for appliers to read in the order of receipt, and readable. */
export interface LogWriterSettings {
  /** Appliers read them after the others. */
  readonly isBackfill?: boolean;
  readonly currentKey?: CurrentKey;
  /** Hears of slow statements. */
  readonly watch?: StatementWatch;
}

/** The statements of a log writer on plain PostgreSQL. */
const statementsOf = (client: pg.Client): LogWriterStatements<StampedAppend> => ({
  register: async (isBackfill) =>
    (await client.query<LogWriterBirth>({ ...registerLogWriter, values: [isBackfill] })).rows[0],
  append: (stamped, parametersOf) => client.query({ ...appendEntries, values: [...parametersOf(stamped)] }),
  readKeys: (statement, wanted) => client.query({ ...statement, values: [JSON.stringify(wanted)] }),
});

/**
 * Sessions of log writers on PostgreSQL: at the first server, or at another `server` of it that has the entries' buckets. Log
 * writers are registered at the first one all the same, where whatever belongs to no bucket is.
 */
export function logWriterSessions(
  clientConfig: pg.ClientConfig,
  { isBackfill = false, currentKey = () => undefined, watch }: LogWriterSettings = {},
  server?: BucketServer,
): OpenLogWriterSession {
  return async (lost) => {
    const client = new pg.Client({
      ...(server?.clientConfig ?? clientConfig),
      application_name: LOG_WRITER_SESSION,
      query_timeout: FLUSH_TIMEOUT_MS,
      statement_timeout: FLUSH_TIMEOUT_MS - 5_000,
    });
    client.on("error", lost);
    client.on("end", () => lost(new Error("The log writer's connection ended.")));
    if (watch !== undefined) watchStatements(client, watch);
    await client.connect();
    const atFirst = <Result>(work: (first: pg.Client) => Promise<Result>) =>
      server === undefined ? work(client) : withSession(clientConfig, "log writer", work);
    let birth = client;
    const endBirth = async () => {
      if (birth !== client) await birth.end();
    };
    try {
      await endWithClient(client);
      const statements = await logWriterStatements(
        client,
        statementsOf(client),
        server && {
          ...server,
          appendEntries: appendEntriesAtServer,
        },
      );
      // One place for all, so that a key is good for one batch; where batches lie on several servers, beside its batch.
      const areKeysPlaced = await placesKeys(client, server);
      const keyBucketOf = ({ entries }: PendingAppend) => (areKeysPlaced ? (entries[0]?.bucket ?? 0) : 0);
      return {
        beginBirth: async () => {
          if (server !== undefined) birth = await openSession(clientConfig, "log writer");
          await birth.query("begin");
          await birth.query("select pg_advisory_xact_lock($1)", [LOG_WRITER_BIRTH_LOCK]);
        },
        register: () => statements.register(isBackfill, birth),
        commit: async () => {
          await birth.query("commit");
          await endBirth();
        },
        makePartitions: (atMs) => atFirst((first) => ensurePartitions(first, atMs)),
        append: (logWriterId, stamped) =>
          statements.append(stamped, (items, keysOnly) =>
            flushParameters(logWriterId, items, keysOnly === true ? undefined : currentKey(), keyBucketOf),
          ),
        readPromise: async () =>
          (await atFirst((first) => first.query<{ promised: string }>(readPromise))).rows[0]?.promised,
        readHeldKeys: (wanted) =>
          statements.readKeys<HeldKey>(
            readIdempotencyKeys,
            areKeysPlaced ? wanted : wanted.map((key) => ({ ...key, bucket: 0 })),
          ),
        close: async () => {
          await Promise.all([client.end(), endBirth()]);
        },
      };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
