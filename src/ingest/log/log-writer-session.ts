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
  type LogWriterRegistration,
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

/** A valid record of a submission: its range in `body` and its property. */
export interface SubmittedRecord extends RecordSlice {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** An invalid record of a lenient batch, stored verbatim with its first violations (at most 10) and their number. */
export interface RejectedRecord extends RecordSlice {
  /** Its property, if it names one. */
  readonly clientCode?: string | undefined;
  readonly propertyCode?: string | undefined;
  readonly violations: readonly ErrorDetail[];
  readonly violationTotal: number;
}

/** A validated batch. `body` is the decompressed JSON. */
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
  readonly backfillId?: string | null;
  /** Packed trace context (src/platform/telemetry/telemetry.ts), if traced. */
  readonly traceContext?: string | undefined;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /** Called with the packed size once `body` is no longer needed, before the batch is written. May throw to refuse the batch. */
  readonly packed?: (bytes: number) => void;
}

/** An operator's decision on a quarantined record. A log entry, so that a replay repeats it. */
export interface Resolution {
  readonly kind: "release" | "discard";
  readonly operator: string;
  readonly bucket: number;
  readonly resource: "i" | "r" | "g";
  readonly requestId: string;
  readonly index: number;
}

/** A log row before its id is stamped. Undefined fields are omitted from the JSON parameter and become null. */
export interface LogEntry {
  readonly bucket: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Violations of its rejected records, as JSON. */
  readonly rejections: Buffer | null;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

/** The rows of one request, and the idempotency key it claims. */
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
    // Consecutive records usually have the same property.
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

/** Adds the rejected records to the parts of the buckets of their properties; those that name none to the first part. */
function addRejected(parts: Map<number, RecordSlice[]>, rejected: Submission["rejected"]) {
  const rejectedOf = new Map<number, RejectedRecord[]>();
  if (rejected.length === 0) return rejectedOf;
  const first = Math.min(...parts.keys());
  for (const record of rejected) {
    const { clientCode, propertyCode } = record;
    const isNamed = clientCode !== undefined && propertyCode !== undefined;
    const bucket = isNamed ? bucketOf(clientCode, propertyCode) : first;
    if (!parts.has(bucket)) parts.set(bucket, []);
    const known = rejectedOf.get(bucket);
    if (known === undefined) rejectedOf.set(bucket, [record]);
    else known.push(record);
  }
  return rejectedOf;
}

/** Serialised here, not within the JSON parameter of the flush, because it may be megabytes. */
function rejectionsOf(rejected: Submission["rejected"]): Buffer | null {
  if (rejected.length === 0) return null;
  const reported = rejected.map(({ index, violations, violationTotal, clientCode, propertyCode }) => ({
    index,
    violations,
    violationTotal,
    clientCode,
    propertyCode,
  }));
  return Buffer.from(JSON.stringify(reported));
}

function bytesOf({ rejections, layout, body }: LogEntry): number {
  return (rejections?.length ?? 0) + (layout?.length ?? 0) + (body?.length ?? 0);
}

/** Splits a submission into one entry per bucket, ascending, so that flushes lock in one order. */
export function entriesOf(submission: Submission): PendingAppend {
  const byBucket = splitByBucket(submission);
  const rejectedOf = addRejected(byBucket, submission.rejected);
  const parts = [...byBucket].sort(([left], [right]) => left - right);
  const entries = parts.map(([bucket, slices]): LogEntry => {
    const rejected = rejectedOf.get(bucket) ?? [];
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

/** Encrypts an entry's records for the stamped id if there is a key. */
function storedOf(
  { bucket, layout, body }: LogEntry,
  requestId: string,
  key: PayloadKey | undefined,
): Pick<LogEntry, "layout" | "body"> {
  if (layout === null || body === null || key === undefined) return { layout, body };
  return encryptBody({ layout, body }, { bucket, requestId }, key);
}

/** The parameters of sql/append-entries.sql. `key` encrypts the records; `keyBucketOf` is the bucket that stores an Idempotency-Key. */
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
        key: append.idempotency?.key,
        key_bucket: append.idempotency === null ? undefined : keyBucketOf(append),
        fingerprint: append.idempotency?.fingerprint,
      });
    }
  }
  return [JSON.stringify(rows), Buffer.concat(pieces)];
}

/** SQLSTATE (division by zero) of an append with ids at or below the closed timestamp. */
export const ID_CLOSED = "22012";

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
 * The database operations of a log writer, on one connection. Promises reject with the database's error (SQLSTATE as `code`) or a
 * connection error. test/simulation has its own implementation.
 */
export interface LogWriterSession {
  /** Begins the transaction that registers the log writer, and waits for other registrations. */
  beginRegistration(): Promise<unknown>;
  /** Undefined if pg_stat_activity does not show this connection. */
  register(): Promise<LogWriterRegistration | undefined>;
  commit(): Promise<unknown>;
  /** Creates the log's partitions for this time and the following windows. */
  makePartitions(atMs: number): Promise<void>;
  /** Writes a flush in one transaction, without rows whose Idempotency-Key another request holds. */
  append(logWriterId: string, stamped: readonly StampedAppend[]): Promise<FlushAnswer>;
  /** Appends with an id at or below it fail with ID_CLOSED. */
  readClosedTimestamp(): Promise<string | undefined>;
  /** `bucket`: the first bucket of the batch that claims the key. */
  readHeldKeys(
    wanted: readonly {
      readonly client_id: string;
      readonly key: string | undefined;
      readonly bucket: number;
    }[],
  ): Promise<{ readonly rows: readonly HeldKey[] }>;
  close(): Promise<void>;
}

/** Opens a session. `lost` is called when it ends, possibly more than once. */
export type OpenLogWriterSession = (lost: (error: unknown) => void) => Promise<LogWriterSession>;

/** A new log writer stamps only above `floor`, the newest id of the log. */
const registerLogWriter = namedStatement(
  "register-log-writer",
  `with registered as (
    insert into bellhop.log_writer (backend_pid, backend_start, yields)
    select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
    returning log_writer_id
  )
  select
    log_writer_id::text,
    (select request_id from bellhop.accept_log order by request_id desc limit 1) as floor,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
  from registered`,
);
const APPEND = new URL("./sql/append-entries.sql", import.meta.url);
const appendEntries = readStatement(APPEND, {
  promised: "select promised from bellhop.closed_timestamp",
  "may-write": "true",
});
/** On a Citus worker: $3 is the shard that the flush locks. */
const appendEntriesAtServer = {
  ...appendEntries,
  text: composeText(APPEND, {
    promised:
      "select promise.promised from bellhop.bucket_closed_timestamp as promise where promise.bucket = e.bucket",
    "may-write": MAY_FLUSH,
  }),
};
const readClosedTimestamp = namedStatement(
  "read-closed-timestamp",
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

/** Advisory lock that serialises registrations. */
const REGISTRATION_LOCK = 7_302_003;
/** A flush that takes longer has an unknown outcome, so its log writer is closed. */
const FLUSH_TIMEOUT_MS = 20_000;
/** Upper bound from stamping an id to its commit. More than FLUSH_TIMEOUT_MS: a flush may be retried after creating partitions. */
export const ACCEPTING_MS_MAX = 300_000;

/** The key that encrypts new records; undefined if they are stored in plaintext. */
export type CurrentKey = () => PayloadKey | undefined;

export interface LogWriterSettings {
  /** Appliers read the entries after those of other log writers. */
  readonly yields?: boolean;
  readonly currentKey?: CurrentKey;
  /** Reports slow statements. */
  readonly watch?: StatementWatch;
}

/** The statements of a log writer on plain PostgreSQL. */
const statementsOf = (client: pg.Client): LogWriterStatements<StampedAppend> => ({
  register: async (yields) =>
    (await client.query<LogWriterRegistration>({ ...registerLogWriter, values: [yields] })).rows[0],
  append: (stamped, parametersOf) => client.query({ ...appendEntries, values: [...parametersOf(stamped)] }),
  readKeys: (statement, wanted) => client.query({ ...statement, values: [JSON.stringify(wanted)] }),
});

/** Opens log writer sessions on PostgreSQL or on a Citus worker (`server`). They are registered at the coordinator. */
export function logWriterSessions(
  clientConfig: pg.ClientConfig,
  { yields = false, currentKey = () => undefined, watch }: LogWriterSettings = {},
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
    const atCoordinator = <Result>(work: (first: pg.Client) => Promise<Result>) =>
      server === undefined ? work(client) : withSession(clientConfig, "log writer", work);
    let registering = client;
    const endRegistration = async () => {
      if (registering !== client) await registering.end();
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
      // Keys are unique in one bucket for all batches or, on Citus workers, only beside their batch.
      const areKeysPlaced = await placesKeys(client, server);
      const keyBucketOf = ({ entries }: PendingAppend) => (areKeysPlaced ? (entries[0]?.bucket ?? 0) : 0);
      return {
        beginRegistration: async () => {
          if (server !== undefined) registering = await openSession(clientConfig, "log writer");
          await registering.query("begin");
          await registering.query("select pg_advisory_xact_lock($1)", [REGISTRATION_LOCK]);
        },
        register: () => statements.register(yields, registering),
        commit: async () => {
          await registering.query("commit");
          await endRegistration();
        },
        makePartitions: (atMs) => atCoordinator((first) => ensurePartitions(first, atMs)),
        append: (logWriterId, stamped) =>
          statements.append(stamped, (items, keysOnly) =>
            flushParameters(logWriterId, items, keysOnly === true ? undefined : currentKey(), keyBucketOf),
          ),
        readClosedTimestamp: async () =>
          (await atCoordinator((first) => first.query<{ promised: string }>(readClosedTimestamp))).rows[0]
            ?.promised,
        readHeldKeys: (wanted) =>
          statements.readKeys<HeldKey>(
            readIdempotencyKeys,
            areKeysPlaced ? wanted : wanted.map((key) => ({ ...key, bucket: 0 })),
          ),
        close: async () => {
          await Promise.all([client.end(), endRegistration()]);
        },
      };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
