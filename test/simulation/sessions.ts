import type { OutcomeCounts } from "../../src/apply/apply-parts.ts";
import type { LogPart, PartRecord, ReadPart } from "../../src/apply/backlog.ts";
import type { ChangeCounters, Lease, LockedLease } from "../../src/apply/leases.ts";
import type { ApplySession, OpenApplySession } from "../../src/apply/pipeline.ts";
import type { ClusterView, WaitingSession } from "../../src/apply/rebalance.ts";
import type {
  HeldKey,
  LogWriterSession,
  OpenLogWriterSession,
  StampedAppend,
} from "../../src/ingest/log/log-writer-session.ts";
import type { FlushAnswer, LogWriterRegistration } from "../../src/platform/db/dialect.ts";
import { append, makePartitions, readHeldKeys, registerLogWriter } from "./accept-statements.ts";
import {
  advanceCursors,
  applyParts,
  endUnresponsive,
  enterPresence,
  giveUpBuckets,
  lockBuckets,
  readBacklog,
  readClusterView,
  retireLogWriters,
  takeBuckets,
} from "./apply-statements.ts";
import type { Work } from "./backend.ts";
import { Connection, type SessionKind } from "./connection.ts";
import type { SimulatedNode } from "./node.ts";
import type { LogRow } from "./store.ts";

/** The timeouts of src/ingest/log/log-writer-session.ts and src/apply/pipeline.ts. */
const LOG_WRITER: SessionKind = { application: "accept", queryTimeoutMs: 20_000, statementTimeoutMs: 15_000 };
const APPLY: SessionKind = {
  application: "apply",
  queryTimeoutMs: 65_000,
  queryTimeoutsMs: {
    "look around": 10_000,
    "end silent": 10_000,
    "retire log writers": 10_000,
    begin: 10_000,
    rollback: 10_000,
    "read backlog": 30_000,
  },
  statementTimeoutMs: 60_000,
};

/** So that four of the largest batches fill a transaction (INFLATED_BYTES_TARGET of src/apply/pipeline.ts). */
const BYTES_A_RECORD = 2_100;

/** Of each part that is applied in pieces. */
const PIECES = 3;

const NONE_COUNTED: OutcomeCounts = { a: 0, u: 0, s: 0, d: 0, q: 0, x: 0 };
/** src/platform/db/coordination.ts */
const PULSE_MS = 500;
/** One apply transaction in so many. */
const SHORT_EVERY = 5;

function* sayNothing(): Work {
  yield 0;
  return undefined;
}

/** What apply counts of a part are its records; what they say is no part of the protocol. */
const RECORD = {} as PartRecord;
const RECORDS = new Map<number, readonly PartRecord[]>();

function recordsOf(count: number): readonly PartRecord[] {
  let records = RECORDS.get(count);
  if (records === undefined) {
    records = Array.from({ length: count }, () => RECORD);
    RECORDS.set(count, records);
  }
  return records;
}

class SimulatedLogWriterSession implements LogWriterSession {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async beginRegistration(): Promise<unknown> {
    await this.#connection.query("begin", "begin");
    return this.#connection.query("lock births", function* () {
      yield { lock: "births" };
      return undefined;
    });
  }

  register(): Promise<LogWriterRegistration | undefined> {
    const { database } = this.#connection.node;
    return this.#connection.query("register log writer", registerLogWriter(database)) as Promise<
      LogWriterRegistration | undefined
    >;
  }

  commit(): Promise<unknown> {
    return this.#connection.query("commit", "commit");
  }

  makePartitions(): Promise<void> {
    const { database } = this.#connection.node;
    return this.#connection.query("make partitions", makePartitions(database)) as Promise<void>;
  }

  append(
    logWriterId: string,
    stamped: readonly StampedAppend[],
  ): Promise<{ readonly rows: FlushAnswer["rows"] }> {
    const { database } = this.#connection.node;
    const answer = this.#connection.query("append", append(database, logWriterId, stamped)) as Promise<{
      rows: FlushAnswer["rows"];
    }>;
    if (!database.conditions.plants.has("answer-before-commit")) return answer;
    answer.catch(() => undefined);
    const rows = stamped.map(({ requestId }) => ({
      request_id: requestId,
      database_now_ms: database.clockMs,
    }));
    return Promise.resolve({ rows });
  }

  /** Point-in-time answers are not simulated: nothing is promised. */
  readClosedTimestamp(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  readHeldKeys(
    wanted: readonly { readonly client_id: string; readonly key: string | undefined }[],
  ): Promise<{ readonly rows: HeldKey[] }> {
    const { database } = this.#connection.node;
    return this.#connection.query("read held keys", readHeldKeys(database, wanted)) as Promise<{
      rows: HeldKey[];
    }>;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

class SimulatedApplySession implements ApplySession {
  readonly presenceId: string;
  readonly #connection: Connection;
  readonly #epochs = new Map<number, string>();
  #begun = 0;
  #isInTransaction = false;
  #readAhead: readonly LogPart[] = [];

  constructor(connection: Connection, presenceId: string) {
    this.#connection = connection;
    this.presenceId = presenceId;
  }

  async readClusterView(silenceSecondsMax: number): Promise<ClusterView> {
    const { database } = this.#connection.node;
    const work = readClusterView(database, silenceSecondsMax);
    const around = (await this.#connection.query("look around", work)) as ClusterView;
    if (!database.conditions.plants.has("two-owners")) return around;
    return { ...around, held: [...this.#epochs].map(([bucket, epoch]) => ({ bucket, epoch })) };
  }

  endUnresponsive(session: WaitingSession): Promise<boolean> {
    const { database } = this.#connection.node;
    return this.#connection.query("end silent", endUnresponsive(database, session)) as Promise<boolean>;
  }

  giveUpBuckets(buckets: readonly number[]): Promise<unknown> {
    const { database } = this.#connection.node;
    for (const bucket of buckets) this.#epochs.delete(bucket);
    return this.#connection.query("give up buckets", giveUpBuckets(database, buckets));
  }

  /** As startPulse of src/platform/db/coordination.ts, by simulated time. */
  startPulse(): { stop(): void } {
    let callOff = (): void => undefined;
    const wait = (): void => {
      callOff = this.#connection.node.time.after(PULSE_MS, () => {
        this.#connection.query("pulse", sayNothing).catch(() => undefined);
        wait();
      });
    };
    wait();
    return { stop: () => callOff() };
  }

  async takeBuckets(owner: string, free: readonly Lease[]): Promise<readonly Lease[]> {
    const { database } = this.#connection.node;
    const work = takeBuckets(database, owner, free);
    const leases = (await this.#connection.query("take buckets", work)) as Lease[];
    for (const { bucket, epoch } of leases) this.#epochs.set(bucket, epoch);
    return leases;
  }

  async lockBuckets(buckets: readonly number[]): Promise<readonly LockedLease[]> {
    const { database } = this.#connection.node;
    const leases = (await this.#connection.query(
      "lock buckets",
      lockBuckets(database, buckets),
    )) as LockedLease[];
    if (!database.conditions.plants.has("two-owners")) return leases;
    // As if nobody compared them.
    return leases.map((lease) => ({ ...lease, epoch: this.#epochs.get(lease.bucket) ?? lease.epoch }));
  }

  retireLogWriters(): Promise<unknown> {
    return this.#connection.query("retire log writers", retireLogWriters(this.#connection.node.database));
  }

  async readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]> {
    const { database } = this.#connection.node;
    if (
      database.conditions.plants.has("keep-read-ahead") &&
      this.#readAhead.length > 0 &&
      !this.#isInTransaction
    )
      return [...this.#readAhead];
    const isAhead = this.#isInTransaction;
    const reading = readBacklog(database, buckets, recordsMax);
    const parts = (await this.#connection.query("read backlog", reading)) as LogPart[];
    if (isAhead) this.#readAhead = parts;
    return parts;
  }

  async readPart(part: LogPart): Promise<ReadPart> {
    const { node } = this.#connection;
    const { conditions } = node.database;
    const delayMs = conditions.readMs();
    if (delayMs > 0) await new Promise<void>((resolve) => node.time.after(delayMs, resolve));
    const refused = conditions.refuseReading();
    if (refused !== undefined) throw refused;
    const { recordCount } = part as LogRow;
    const read = {
      part,
      records: recordsOf(recordCount),
      inflatedBytes: recordCount * BYTES_A_RECORD,
      free: () => undefined,
    };
    if (part.progress === undefined) return read;
    const { untilRecord: fromRecord } = part.progress;
    const untilRecord = fromRecord + 1;
    return { ...read, piece: { fromRecord, untilRecord, isLast: untilRecord === PIECES } };
  }

  async begin(): Promise<boolean> {
    this.#isInTransaction = true;
    this.#begun += 1;
    await this.#connection.query("begin", "begin");
    // Now and then it is to be short, as somebody waits at the gate.
    return this.#begun % SHORT_EVERY === 0;
  }

  async advanceCursors(parts: readonly LogPart[]): Promise<void> {
    const { database } = this.#connection.node;
    await this.#connection.query("advance cursors", advanceCursors(database, parts));
  }

  async applyParts(parts: readonly ReadPart[], counters: ChangeCounters): Promise<OutcomeCounts> {
    const { database } = this.#connection.node;
    await this.#connection.query("apply parts", applyParts(database, parts, counters));
    return NONE_COUNTED;
  }

  async applyResolution(resolution: LogPart, counters: ChangeCounters): Promise<OutcomeCounts> {
    const { database } = this.#connection.node;
    const parts = [{ part: resolution }];
    await this.#connection.query("apply resolution", applyParts(database, parts, counters));
    await this.advanceCursors([resolution]);
    return NONE_COUNTED;
  }

  async commit(): Promise<string> {
    const command = (await this.#connection.query("commit", "commit")) as string;
    this.#isInTransaction = false;
    this.#readAhead = [];
    return command;
  }

  async rollback(): Promise<void> {
    await this.#connection.query("rollback", "rollback");
    this.#isInTransaction = false;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

export function simulatedLogWriterSessions(node: SimulatedNode): OpenLogWriterSession {
  return async (lost) => new SimulatedLogWriterSession(await Connection.open(node, LOG_WRITER, lost));
}

export function simulatedApplySessions(node: SimulatedNode): OpenApplySession {
  return async (_owner, failed) => {
    const connection = await Connection.open(node, APPLY, failed);
    try {
      const presenceId = (await connection.query("enter presence", enterPresence(node.database))) as string;
      return new SimulatedApplySession(connection, presenceId);
    } catch (error) {
      await connection.close();
      throw error;
    }
  };
}
