import pg from "pg";
import { microsecondsOf } from "../ingest/log/part-name.ts";
import { ensurePartitions } from "../ingest/log/partitions.ts";
import { replaceBody, rewriteBody } from "../ingest/log/stored-body.ts";
import { loadRedactionList, type RedactionList } from "../ingest/redact.ts";
import { beginBehindGate } from "../platform/db/apply-gate.ts";
import { endWithClient, tellProcess } from "../platform/db/connection.ts";
import { isMissingWindow } from "../platform/db/database-errors.ts";
import { isDistributed } from "../platform/db/distribution.ts";
import { type StatementWatch, watchStatements } from "../platform/db/pool.ts";
import { enterPresence, startPulse } from "../platform/db/presence.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import {
  advanceCursors,
  applyParts,
  applyResolution,
  countOutcomes,
  type OutcomeCounts,
} from "./apply-parts.ts";
import { ApplyMemory } from "./apply-records.ts";
import {
  type LogPart,
  type PropertyDirectory,
  type ReadPart,
  readBacklog,
  readPart,
  SHORT,
} from "./backlog.ts";
import {
  type ChangeCounters,
  type Lease,
  type LeaseReader,
  type LeaseRow,
  LeaseStatements,
  LeasesOfWorkers,
} from "./leases.ts";
import type { ApplySession, OpenApplySession } from "./pipeline.ts";
import type { ClusterView, WaitingSession } from "./rebalance.ts";
import { openStateSession, planByKeys } from "./state/look-up.ts";
import { STATE_SCHEMA } from "./state/state-schema.ts";

const retireLogWritersStatement = readStatement(new URL("./sql/retire-log-writers.sql", import.meta.url));
/** The log writers whose backend is gone, as in retire-log writers, and whose end nobody has noted. */
const findDeadLogWriters = namedStatement(
  "find-dead-log-writers",
  `select log_writer.log_writer_id::text as log_writer_id, log_writer.backend_pid
  from bellhop.log_writer as log_writer
  where log_writer.sealed_at is null
    and not exists (
      select from pg_stat_activity writer
      where writer.pid = log_writer.backend_pid
        and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
    )`,
);
const findUnreadLogWriters = readStatement(
  new URL("./sql/find-unread-log-writers-distributed.sql", import.meta.url),
);

/** Seals log writers in which nothing can appear any more, retires those of them of which all is applied. */
export async function retireLogWriters(client: pg.ClientBase): Promise<void> {
  if (!(await isDistributed(client))) await client.query({ ...retireLogWritersStatement, ...SHORT });
  else {
    await sealLogWriters(client);
    await retireSealed(client);
  }
}

/**
 * Citus names what it prepares on a worker by the coordinator's group (0) and backend, and its sessions there by a number that ends in
 * the backend's, of ten digits behind the node's. (A worker's backend of the same number holds a log writer up for a moment.)
 */
const BEGUN_BY = /^citus_(?:0_|internal gpid=)(\d+)/;
const BACKENDS_OF_NODE = 10_000_000_000;
const BEGUN_ON_WORKER = `
  select coalesce(json_agg(name), '[]') from (
    select gid from pg_prepared_xacts where database = current_database()
    union all
    select application_name from pg_stat_activity where datname = current_database() and xact_start is not null
  ) as begun (name)`;

/**
 * A flush of several workers is prepared on each, and committed on the coordinator first. Where a worker was away at that
 * moment its rows appear only when Citus has recovered, perhaps long after the writer's session is gone; and a statement of one
 * worker may still be at work there. So a log writer is sealed once its session is gone and no worker, asked after that, has anything
 * that the session began.
 */
async function sealLogWriters(client: pg.ClientBase): Promise<void> {
  const { rows: dead } = await client.query<{ log_writer_id: string; backend_pid: number }>({
    ...findDeadLogWriters,
    ...SHORT,
  });
  if (dead.length === 0) return;
  const { rows } = await client.query<{ success: boolean; result: string }>({
    ...SHORT,
    text: "select success, result from run_command_on_workers($1)",
    values: [BEGUN_ON_WORKER],
  });
  if (rows.some(({ success }) => !success)) return;
  const atWork = new Set(
    rows
      .flatMap(({ result }) => JSON.parse(result) as string[])
      .map((name) => Number(BEGUN_BY.exec(name)?.[1]) % BACKENDS_OF_NODE),
  );
  const ended = dead.filter(({ backend_pid }) => !atWork.has(backend_pid));
  await client.query({
    ...SHORT,
    text: "update bellhop.log_writer set sealed_at = clock_timestamp() where log_writer_id = any ($1::bigint[]) and sealed_at is null",
    values: [ended.map(({ log_writer_id }) => log_writer_id)],
  });
}

async function retireSealed(client: pg.ClientBase): Promise<void> {
  const sealed = await client.query<{ log_writer_id: string }>({
    ...SHORT,
    text: "select log_writer_id::text as log_writer_id from bellhop.log_writer where sealed_at is not null and retired_at is null",
  });
  if (sealed.rows.length === 0) return;
  const logWriters = sealed.rows.map(({ log_writer_id }) => log_writer_id);
  const { rows } = await client.query<{ log_writer_id: string }>({
    ...findUnreadLogWriters,
    ...SHORT,
    values: [logWriters],
  });
  const unread = new Set(rows.map(({ log_writer_id }) => log_writer_id));
  await client.query({
    ...SHORT,
    text: "update bellhop.log_writer set retired_at = clock_timestamp() where log_writer_id = any ($1::bigint[]) and retired_at is null",
    values: [logWriters.filter((logWriter) => !unread.has(logWriter))],
  });
}

const readClusterViewStatement = readStatement(new URL("./sql/read-cluster-view.sql", import.meta.url));

const LEASES = "select bucket, epoch, owner, backend_pid, backend_start from bellhop.bucket_lease";
const viewOfLeases = {
  name: "cluster-view-of-leases",
  text: readClusterViewStatement.text.replace(
    LEASES,
    `select * from json_to_recordset($2::json) as lease (
      bucket smallint, epoch bigint, owner text, backend_pid integer, backend_start timestamptz
    )`,
  ),
};

/**
 * What an applier sees of the others. On Citus the leases are read first (`readLeases`), from the workers, and then compared with
 * the sessions of the coordinator: in one statement Citus might ask a worker who its sessions are. A lease that has changed in
 * between has another epoch, at which nobody takes it.
 */
async function readClusterView(
  client: pg.ClientBase,
  silenceSecondsMax: number,
  readLeases: () => Promise<readonly LeaseRow[]>,
): Promise<ClusterView> {
  if (!(await isDistributed(client))) return around(client, readClusterViewStatement, [silenceSecondsMax]);
  return around(client, viewOfLeases, [silenceSecondsMax, JSON.stringify(await readLeases())]);
}

async function around(
  client: pg.ClientBase,
  statement: { readonly name: string; readonly text: string },
  values: unknown[],
): Promise<ClusterView> {
  const { rows } = await client.query<ClusterView>({ ...statement, ...SHORT, values });
  if (rows[0] === undefined) throw new Error("A look around found nothing at all.");
  return rows[0];
}

/**
 * Redacts in the log the records of the redaction list that a node accepted verbatim before it knew of
 * them.
 */
async function writeRedacted(client: pg.ClientBase, parts: readonly ReadPart[]): Promise<void> {
  for (const { part, redacted } of parts) {
    const { layout, body, bucket, logWriterId, requestId } = part;
    if (redacted === undefined || layout === null || body === null) continue;
    const rewritten = await rewriteBody(part, { layout, body }, ({ index }) => {
      const bytes = redacted.get(index);
      return bytes === undefined ? "keep" : { bytes, contentHash: undefined };
    });
    if (rewritten === undefined) continue;
    await client.query({
      ...replaceBody,
      values: [bucket, logWriterId, requestId, rewritten.layout, rewritten.body],
    });
  }
}

/** Ends the session of backend $1 and waits up to a second for its end, unless it has said something since $2. */
const endUnresponsiveSession = namedStatement(
  "end-unresponsive-session",
  `select pg_terminate_backend(pid, 1000) as ended
  from pg_stat_activity
  where pid = $1 and state_change::text = $2`,
);

const STATEMENT_TIMEOUT_MS = 60_000;
/** Some 5 ms of a thread's time, for which whoever else applies on it waits. */
const BULK_RECORDS_AT_ONCE = 500;

/** What sessions of an applier are made of. */
export interface ApplySessionParts {
  readonly clientConfig: pg.ClientConfig;
  /** For shared settings, such as the labels of a client. */
  readonly pool: pg.Pool;
  readonly properties: PropertyDirectory;
  /** It is the second of its thread, for what takes long: it is not counted as present, and pauses more often. */
  readonly isBulk?: boolean;
  /** On Citus, of the sessions of one thread; by default of these alone. */
  readonly leases?: LeasesOfWorkers;
  /** Hears of slow statements. */
  readonly watch?: StatementWatch;
  /** A session was opened; its process on the database's machine. */
  connected?(processId: number): void;
}

interface OpenedParts extends ApplySessionParts {
  readonly leases: LeasesOfWorkers;
  failed(error: unknown): void;
}

class PostgresApplySession extends LeaseStatements implements ApplySession {
  readonly presenceId: string;
  readonly #client: pg.Client;
  /** On Citus only. */
  readonly #leases: LeasesOfWorkers;
  readonly #taken = new Map<number, Lease>();
  readonly #leaseReader: LeaseReader;
  readonly #properties: PropertyDirectory;
  readonly #memory: ApplyMemory;
  readonly #recordsAtOnce: number | undefined;
  readonly #pool: pg.Pool;
  /** Whose records are redacted, as of the last time that a bucket was taken. */
  #redactions: RedactionList | undefined;
  /** Requests whose outcomes could not be written, as they have no window. */
  readonly #withoutWindow: string[] = [];

  constructor(
    client: pg.Client,
    presenceId: string,
    { pool, properties, isBulk, leases, failed }: OpenedParts,
  ) {
    super(client);
    this.#client = client;
    this.presenceId = presenceId;
    this.#leases = leases;
    this.#leaseReader = { client, taken: this.#taken, failed };
    this.#properties = properties;
    this.#pool = pool;
    this.#memory = new ApplyMemory(pool, client);
    this.#recordsAtOnce = isBulk === true ? BULK_RECORDS_AT_ONCE : undefined;
  }

  override async takeBuckets(owner: string, free: readonly Lease[]): Promise<Lease[]> {
    // Others have written to them since this session last did, if it ever did.
    this.#memory.forget();
    const taken = await super.takeBuckets(owner, free);
    for (const lease of taken) this.#taken.set(lease.bucket, lease);
    // An erasure ends the leases of the buckets that it redacts: whoever takes one now knows of every erasure there was.
    this.#redactions = undefined;
    return taken;
  }

  readClusterView(silenceSecondsMax: number): Promise<ClusterView> {
    return readClusterView(this.#client, silenceSecondsMax, () => this.#leases.read(this.#leaseReader));
  }

  async endUnresponsive({ pid, spoke }: WaitingSession): Promise<boolean> {
    return (
      (await this.#client.query({ ...endUnresponsiveSession, ...SHORT, values: [pid, spoke] })).rowCount !== 0
    );
  }

  async retireLogWriters(): Promise<unknown> {
    const retire = () => retireLogWriters(this.#client);
    return (await isDistributed(this.#client))
      ? this.#leases.whenComplete(this.#leaseReader, retire)
      : retire();
  }

  readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]> {
    return readBacklog(this.#client, buckets, recordsMax, this.#leases.areComplete);
  }

  async readPart(part: LogPart): Promise<ReadPart> {
    // A failure is not kept: the next part asks again.
    this.#redactions ??= await loadRedactionList(this.#pool);
    return readPart(part, this.#properties, this.#redactions);
  }

  startPulse(): { stop(): void } {
    return startPulse(this.#client);
  }

  async begin(): Promise<boolean> {
    for (const requestId of this.#withoutWindow.splice(0))
      await ensurePartitions(this.#client, microsecondsOf(requestId) / 1000);
    return beginBehindGate(this.#client, SHORT);
  }

  advanceCursors(parts: readonly LogPart[]): Promise<void> {
    return advanceCursors(this.#client, parts);
  }

  applyParts(parts: readonly ReadPart[], counters: ChangeCounters): Promise<OutcomeCounts> {
    return this.#orWithoutWindow(
      parts.map(({ part }) => part),
      async () => {
        await writeRedacted(this.#client, parts);
        return applyParts(this.#client, parts, counters, this.#memory, this.#recordsAtOnce);
      },
    );
  }

  async applyResolution(resolution: LogPart, counters: ChangeCounters): Promise<OutcomeCounts> {
    const letter = await this.#orWithoutWindow([resolution], () =>
      applyResolution(this.#client, resolution, counters, this.#properties, this.#memory),
    );
    return countOutcomes([letter]);
  }

  /** Has the windows of outcomes be made before the next try where one of these parts has none. */
  async #orWithoutWindow<Result>(parts: readonly LogPart[], work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (isMissingWindow(error)) this.#withoutWindow.push(...parts.map(({ requestId }) => requestId));
      throw error;
    }
  }

  async commit(): Promise<string> {
    return (await this.#client.query("commit")).command;
  }

  async rollback(): Promise<void> {
    this.#memory.forget();
    await this.#client.query({ text: "rollback", ...SHORT });
  }

  close(): Promise<void> {
    this.#leases.leave(this.#taken.values());
    return this.#client.end();
  }
}

/** Sessions of an applier on PostgreSQL. */
export function applySessions(parts: ApplySessionParts): OpenApplySession {
  const leases = parts.leases ?? new LeasesOfWorkers();
  return async (owner, failed) => {
    const client = new pg.Client({
      ...parts.clientConfig,
      application_name: parts.isBulk === true ? "bellhop apply long" : "bellhop apply",
      query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
      statement_timeout: STATEMENT_TIMEOUT_MS,
    });
    client.on("error", failed);
    if (parts.watch !== undefined) watchStatements(client, parts.watch);
    await client.connect();
    tellProcess(client, (processId) => parts.connected?.(processId));
    try {
      await openStateSession(client, STATE_SCHEMA);
      await endWithClient(client);
      await planByKeys(client, true);
      const isCounted = parts.isBulk !== true;
      const [presenceId = ""] = isCounted ? await enterPresence(client, ["apply"], owner) : [];
      return new PostgresApplySession(client, presenceId, { ...parts, leases, failed });
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
