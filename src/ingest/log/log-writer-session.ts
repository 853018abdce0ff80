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
import type { PayloadKey } from "./encrypt-body.ts";
import { flushParameters, type PendingAppend } from "./log-entry.ts";
import { ensurePartitions } from "./partitions.ts";

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
