import pg from "pg";
import { microsecondsOf } from "../ingest/log/part-name.ts";
import { ensurePartitions } from "../ingest/log/partitions.ts";
import { replaceBody, rewriteBody } from "../ingest/log/rewrite-body.ts";
import { type RedactionListWatch, watchRedactionList } from "../ingest/redact.ts";
import {
  endWithClient,
  reportProcess,
  type StatementWatch,
  watchStatements,
} from "../platform/db/connection.ts";
import { beginBehindGate, enterPresence, startPulse } from "../platform/db/coordination.ts";
import { isMissingWindow } from "../platform/db/database-errors.ts";
import {
  type BucketServer,
  holdBuckets,
  LOG_WRITER_SESSION,
  nameShards,
  noteFailure,
  queryAllBuckets,
  retireLogWriters,
} from "../platform/db/dialect.ts";
import { composeText, namedStatement, readStatement } from "../platform/db/statement.ts";
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
  openNextPiece,
  type PropertyDirectory,
  type ReadPart,
  readBacklog,
  readPart,
  readWholeBody,
  SHORT_TIMEOUT,
} from "./backlog.ts";
import { type ChangeCounters, type Lease, LeaseStatements } from "./leases.ts";
import type { ApplySession, OpenApplySession } from "./pipeline.ts";
import type { ClusterView, WaitingSession } from "./rebalance.ts";
import { openStateSession, planByKeys } from "./state/look-up.ts";
import { STATE_SCHEMA } from "./state/state-schema.ts";

export const retireLogWritersStatement = readStatement(
  new URL("./sql/retire-log-writers.sql", import.meta.url),
);
const VIEW = new URL("./sql/read-cluster-view.sql", import.meta.url);
const LEASES = "select bucket, epoch, owner, backend_pid, backend_start from bellhop.bucket_lease";
/** application_name of applier sessions. A Citus worker has no presence or log writer rows, so sessions there are found by name. */
const APPLY_SESSION = "bellhop apply";
const SESSION_ID = "(extract(epoch from backend_start) * 1000000)::bigint::text || '.' || pid";
const readClusterView = readStatement(VIEW, {
  leases: LEASES,
  present: "select presence_id, backend_pid, backend_start from bellhop.presence where role = 'apply'",
  "log-writers": `select backend_pid, backend_start, 'log_writer ' || log_writer_id, true
    from bellhop.log_writer where closed_at is null`,
});
const CLUSTER_VIEW = {
  own: { ...readClusterView, ...SHORT_TIMEOUT },
  given: {
    ...readClusterView,
    ...SHORT_TIMEOUT,
    part: LEASES,
    textOf: (leases: string) =>
      composeText(VIEW, {
        leases,
        present: `select ${SESSION_ID} as presence_id, pid as backend_pid, backend_start from pg_stat_activity
        where datname = current_database() and application_name = '${APPLY_SESSION}'`,
        "log-writers": `select pid, backend_start, 'log_writer of ' || coalesce(host(client_addr), 'this machine'), true
        from pg_stat_activity where datname = current_database() and application_name = '${LOG_WRITER_SESSION}'`,
      }),
  },
};

/** Redacts log records that a node accepted verbatim before it read the redaction list entry. */
async function writeRedacted(client: pg.ClientBase, parts: readonly ReadPart[]): Promise<void> {
  for (const { part, redacted } of parts) {
    const { layout, bucket, logWriterId, requestId } = part;
    if (redacted === undefined || layout === null) continue;
    const body = part.body ?? (await readWholeBody(client, part));
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

/** Terminates backend $1 and waits up to a second for it to exit, unless its state changed after $2. */
const endUnresponsiveSession = namedStatement(
  "end-unresponsive-session",
  `select pg_terminate_backend(pid, 1000) as ended
  from pg_stat_activity
  where pid = $1 and state_change::text = $2`,
);

const STATEMENT_TIMEOUT_MS = 60_000;

export interface ApplySessionParts {
  readonly clientConfig: pg.ClientConfig;
  /** For shared settings, such as the statuses of a client. */
  readonly pool: pg.Pool;
  readonly properties: PropertyDirectory;
  /** The server that has the buckets. Default: the one in `clientConfig`. */
  readonly server?: BucketServer;
  /** Reports slow statements. */
  readonly watch?: StatementWatch;
  /** Called with the server process id of each new session. */
  connected?(processId: number): void;
  /** Called for each batch or piece that has been applied, with the rows of the night ledger that its records made. */
  entered?(clientId: string, records: number, rows: number): void;
}

/** A failed renewal is retried; until then the previous list applies. */
const watchRedactions = (pool: pg.Pool) => watchRedactionList(pool, () => undefined);

class PostgresApplySession extends LeaseStatements implements ApplySession {
  readonly presenceId: string;
  readonly #client: pg.Client;
  readonly #properties: PropertyDirectory;
  readonly #memory: ApplyMemory;
  readonly #pool: pg.Pool;
  /** Never older than the last `takeBuckets`. */
  #redactions: RedactionListWatch;
  /** Ids of requests whose outcomes have no partition yet. */
  readonly #withoutWindow: string[] = [];

  readonly #entered: ApplySessionParts["entered"];

  constructor(client: pg.Client, presenceId: string, { pool, properties, entered }: ApplySessionParts) {
    super(client);
    this.#entered = entered;
    this.#client = client;
    this.presenceId = presenceId;
    this.#properties = properties;
    this.#pool = pool;
    this.#redactions = watchRedactions(pool);
    this.#memory = new ApplyMemory(pool, client);
  }

  override async takeBuckets(owner: string, free: readonly Lease[]): Promise<readonly Lease[]> {
    // Other sessions may have written to these buckets since.
    this.#memory.forget();
    const taken = await super.takeBuckets(owner, free);
    // An erasure ends the leases of the buckets that it redacts, so a list read after taking them includes every erasure.
    this.#redactions = watchRedactions(this.#pool);
    return taken;
  }

  async readClusterView(silenceSecondsMax: number): Promise<ClusterView> {
    const [view] = await queryAllBuckets<ClusterView>(this.#client, CLUSTER_VIEW, [silenceSecondsMax]);
    if (view === undefined) throw new Error("The cluster view has no row.");
    return view;
  }

  async endUnresponsive({ pid, spoke }: WaitingSession): Promise<boolean> {
    return (
      (await this.#client.query({ ...endUnresponsiveSession, ...SHORT_TIMEOUT, values: [pid, spoke] }))
        .rowCount !== 0
    );
  }

  retireLogWriters(): Promise<void> {
    return retireLogWriters(this.#client, { ...retireLogWritersStatement, ...SHORT_TIMEOUT });
  }

  readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]> {
    return readBacklog(this.#client, buckets, recordsMax);
  }

  async readPart(part: LogPart): Promise<ReadPart> {
    const redactions = await this.#redactions.current();
    const { progress } = part;
    const piece = progress && (await openNextPiece(this.#client, part, progress));
    return readPart(part, this.#properties, redactions, redactions, piece);
  }

  startPulse(): { stop(): void } {
    return startPulse(this.#client);
  }

  async begin(buckets: readonly number[]): Promise<boolean> {
    for (const requestId of this.#withoutWindow.splice(0)) await this.#ensurePartitions(requestId);
    try {
      return await beginBehindGate(this.#client, SHORT_TIMEOUT, holdBuckets(this.#client, buckets));
    } catch (error) {
      noteFailure(this.#client, error);
      throw error;
    }
  }

  async #ensurePartitions(requestId: string): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await ensurePartitions(client, microsecondsOf(requestId) / 1000);
    } finally {
      client.release();
    }
  }

  advanceCursors(parts: readonly LogPart[]): Promise<void> {
    return advanceCursors(this.#client, parts);
  }

  applyParts(parts: readonly ReadPart[], counters: ChangeCounters): Promise<OutcomeCounts> {
    return this.#orWithoutWindow(
      parts.map(({ part }) => part),
      async () => {
        await writeRedacted(this.#client, parts);
        const counts = await applyParts(this.#client, parts, counters, this.#memory);
        const rows = this.#memory.takeRows();
        for (const { part, records } of parts)
          if (part.clientId !== undefined)
            this.#entered?.(part.clientId, records.length, rows.get(part.requestId) ?? 0);
        return counts;
      },
    );
  }

  async applyResolution(resolution: LogPart, counters: ChangeCounters): Promise<OutcomeCounts> {
    const letter = await this.#orWithoutWindow([resolution], () =>
      applyResolution(this.#client, resolution, counters, this.#properties, this.#memory),
    );
    this.#memory.takeRows();
    return countOutcomes(letter);
  }

  /** If the error is a missing partition, lets the next `begin` create those of these parts. */
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
    await this.#client.query({ text: "rollback", ...SHORT_TIMEOUT });
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

export function applySessions(parts: ApplySessionParts): OpenApplySession {
  const { clientConfig, server, pool } = parts;
  return async (owner, failed) => {
    const client = new pg.Client({
      ...(server?.clientConfig ?? clientConfig),
      application_name: APPLY_SESSION,
      query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
      statement_timeout: STATEMENT_TIMEOUT_MS,
    });
    client.on("error", failed);
    if (parts.watch !== undefined) watchStatements(client, parts.watch);
    await client.connect();
    reportProcess(client, (processId) => parts.connected?.(processId));
    try {
      if (server !== undefined) nameShards(client, server, pool);
      await openStateSession(client, STATE_SCHEMA);
      await endWithClient(client);
      await planByKeys(client, true);
      return new PostgresApplySession(client, await enter(client, owner, parts), parts);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}

/** Makes the session present and returns its presence id. */
async function enter(client: pg.Client, owner: string, { server }: ApplySessionParts): Promise<string> {
  if (server === undefined) return (await enterPresence(client, ["apply"], owner))[0] ?? "";
  const { rows } = await client.query<{ id: string }>(
    `select ${SESSION_ID} as id from pg_stat_activity where pid = pg_backend_pid()`,
  );
  return rows[0]?.id ?? "";
}
