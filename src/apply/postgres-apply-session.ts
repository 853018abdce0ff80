import pg from "pg";
import { ensurePartitions } from "../accept/partitions.ts";
import { microsecondsOf } from "../accept/request-id.ts";
import { loadStripList, type StripList } from "../accept/strip-list.ts";
import { beginBehindGate } from "../db/apply-gate.ts";
import { endWithClient, tellProcess } from "../db/connection.ts";
import { isDistributed } from "../db/distribution.ts";
import { enterPresence, startPulse } from "../db/presence.ts";
import { isMissingWindow } from "../db/sql-state.ts";
import { readStatement } from "../db/statement.ts";
import { type StatementWatch, watchStatements } from "../db/watch-statements.ts";
import { STATE_SCHEMA } from "../state/state-schema.ts";
import { openStateSession, planByKeys } from "../state/state-session.ts";
import { SHORT } from "./answer-bounds.ts";
import { ApplyMemory } from "./apply-memory.ts";
import { advanceCursors, applyParts, countOutcomes, type OutcomeCounts } from "./apply-parts.ts";
import { applyResolution } from "./apply-resolution.ts";
import type { ApplySession, OpenApplySession } from "./apply-session.ts";
import { type LogPart, readBacklog } from "./backlog.ts";
import { LeaseStatements } from "./lease-statements.ts";
import { type LeaseReader, LeasesOfWorkers } from "./leases-of-workers.ts";
import { lookAround } from "./look-around.ts";
import type { ChangeCounters, Lease } from "./ownership.ts";
import type { PropertyDirectory } from "./property-directory.ts";
import { type ReadPart, readPart } from "./read-part.ts";
import { retireLanes } from "./retire-lanes.ts";
import type { Around } from "./sharing.ts";
import type { WaitingSession } from "./silent-sessions.ts";
import { writeStripped } from "./write-stripped.ts";

const endSilentSession = readStatement(new URL("./sql/end-silent-session.sql", import.meta.url));

const STATEMENT_TIMEOUT_MS = 60_000;
/** Some 5 ms of a thread's time, for which whoever else applies on it waits. */
const LONG_WAY_RECORDS_AT_ONCE = 500;

/** What sessions of an applier are made of. */
export interface ApplySessionParts {
  readonly clientConfig: pg.ClientConfig;
  /** For shared settings, such as the labels of a client. */
  readonly pool: pg.Pool;
  readonly properties: PropertyDirectory;
  /** It is the second of its thread, for what takes long: it is not counted as present, and pauses more often. */
  readonly isLongWay?: boolean;
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
  /** Whose records are stripped, as of the last time that a bucket was taken. */
  #strips: StripList | undefined;
  /** Requests whose outcomes could not be written, as they have no window. */
  readonly #withoutWindow: string[] = [];

  constructor(
    client: pg.Client,
    presenceId: string,
    { pool, properties, isLongWay, leases, failed }: OpenedParts,
  ) {
    super(client);
    this.#client = client;
    this.presenceId = presenceId;
    this.#leases = leases;
    this.#leaseReader = { client, taken: this.#taken, failed };
    this.#properties = properties;
    this.#pool = pool;
    this.#memory = new ApplyMemory(pool, client);
    this.#recordsAtOnce = isLongWay === true ? LONG_WAY_RECORDS_AT_ONCE : undefined;
  }

  override async takeBuckets(owner: string, free: readonly Lease[]): Promise<Lease[]> {
    // Others have written to them since this session last did, if it ever did.
    this.#memory.forget();
    const taken = await super.takeBuckets(owner, free);
    for (const lease of taken) this.#taken.set(lease.bucket, lease);
    // An erasure ends the leases of the buckets that it redacts: whoever takes one now knows of every erasure there was.
    this.#strips = undefined;
    return taken;
  }

  lookAround(silenceSecondsMax: number): Promise<Around> {
    return lookAround(this.#client, silenceSecondsMax, () => this.#leases.read(this.#leaseReader));
  }

  async endSilent({ pid, spoke }: WaitingSession): Promise<boolean> {
    return (await this.#client.query({ ...endSilentSession, ...SHORT, values: [pid, spoke] })).rowCount !== 0;
  }

  async retireLanes(): Promise<unknown> {
    const retire = () => retireLanes(this.#client);
    return (await isDistributed(this.#client))
      ? this.#leases.whenComplete(this.#leaseReader, retire)
      : retire();
  }

  readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]> {
    return readBacklog(this.#client, buckets, recordsMax, this.#leases.areComplete);
  }

  async readPart(part: LogPart): Promise<ReadPart> {
    // A failure is not kept: the next part asks again.
    this.#strips ??= await loadStripList(this.#pool);
    return readPart(part, this.#properties, this.#strips);
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
        await writeStripped(this.#client, parts);
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
      application_name: parts.isLongWay === true ? "bellhop apply long" : "bellhop apply",
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
      const isCounted = parts.isLongWay !== true;
      const [presenceId = ""] = isCounted ? await enterPresence(client, ["apply"], owner) : [];
      return new PostgresApplySession(client, presenceId, { ...parts, leases, failed });
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
