import type pg from "pg";
import { isDataError, sqlState } from "../../platform/db/database-errors.ts";
import { type BucketServer, BucketServers, BucketsMoving } from "../../platform/db/dialect.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { machineTime, type Time } from "../../platform/runtime/time.ts";
import { entriesOf, entryOfResolution, type PendingAppend } from "./log-entry.ts";
import {
  ID_CLOSED,
  type LogWriterSession,
  type LogWriterSettings,
  logWriterSessions,
  type OpenLogWriterSession,
  type StampedAppend,
} from "./log-writer-session.ts";
import { microsecondsOf, RequestIdStamp } from "./part-name.ts";
import type { Resolution, Submission } from "./submission.ts";

/** The result of an append. `repeated`: the id is that of the first request with the same Idempotency-Key. */
export interface Acceptance {
  readonly requestId: string;
  readonly repeated: boolean;
  /** Start of the flush, in ms of the log's clock. */
  readonly flushedAt: number;
}

/** The request first accepted under an Idempotency-Key; undefined for another body, or after 24 hours. */
export async function findAccepted(
  pool: pg.Pool,
  clientId: string,
  idempotency: Submission["idempotency"],
): Promise<string | undefined> {
  const { rows } = await pool.query<{ readonly request_id: string }>({
    name: "find-accepted",
    text: `select request_id from bellhop.idempotency_key
      where client_id = $1 and key = $2 and fingerprint = decode($3, 'hex')
        and created_at >= now() - interval '24 hours'`,
    values: [clientId, idempotency?.key, idempotency?.fingerprint],
  });
  return rows[0]?.request_id;
}

const NO_PARTITION = "23514";
/** The closed timestamp is behind the clock, so a new id fails again only if the attempt waits for long. */
const TRIES_MAX = 3;

/** The result of one append of a flush. `held`: another request holds its Idempotency-Key. */
export type FlushResult =
  | { readonly kind: "written"; readonly requestId: string }
  | { readonly kind: "held"; readonly requestId: string; readonly fingerprint: string };

/** Appends flushes one at a time on one session, so that its ids become visible in order. Ends with its session. */
export class LogWriter {
  readonly logWriterId: string;
  readonly #session: LogWriterSession;
  readonly #stamp: RequestIdStamp;

  private constructor(session: LogWriterSession, logWriterId: string, stamp: RequestIdStamp) {
    this.#session = session;
    this.logWriterId = logWriterId;
    this.#stamp = stamp;
  }

  /** Opens and registers a log writer. All log writers of a process share `stamp`. */
  static async open(
    openSession: OpenLogWriterSession,
    stamp: RequestIdStamp,
    lost: (error: unknown) => void,
  ): Promise<LogWriter> {
    const session = await openSession(lost);
    try {
      await session.beginRegistration();
      const sentAt = stamp.now();
      const registration = await session.register();
      const receivedAt = stamp.now();
      await session.commit();
      if (registration === undefined)
        throw new Error("The database does not show this connection in pg_stat_activity.");
      await session.makePartitions(registration.database_now_ms);
      stamp.observe(registration.database_now_ms, sentAt, receivedAt);
      if (registration.floor !== null) stamp.raise(registration.floor);
      return new LogWriter(session, registration.log_writer_id, stamp);
    } catch (error) {
      await session.close().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Writes the appends in one transaction and returns results in the same order. After a data error nothing was written. After any
   * other error the outcome is unknown, and the log writer must not be used again.
   */
  async flush(appends: readonly PendingAppend[]): Promise<FlushResult[]> {
    const { stamped, written } = await this.#stampAndAppend(appends);
    if (stamped.every(({ requestId }) => written.has(requestId))) {
      return stamped.map(({ requestId }) => ({ kind: "written", requestId }));
    }
    return this.#withHeldKeys(stamped, written);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** Stamps new ids if the closed timestamp has passed the first ones; the failed append wrote nothing. */
  async #stampAndAppend(
    appends: readonly PendingAppend[],
  ): Promise<{ readonly stamped: readonly StampedAppend[]; readonly written: ReadonlySet<string> }> {
    for (let tries = 1; ; tries += 1) {
      const stamped = appends.map((append) => ({ append, requestId: this.#stamp.next() }));
      try {
        return { stamped, written: await this.#appendWherePartitionsAre(stamped) };
      } catch (error) {
        if (sqlState(error) !== ID_CLOSED) throw error;
        if (tries === TRIES_MAX)
          throw new Error("The closed timestamp passed the ids of an append repeatedly.", { cause: error });
        const closed = await this.#session.readClosedTimestamp();
        if (closed !== undefined) this.#stamp.raise(closed);
      }
    }
  }

  #appendWherePartitionsAre(stamped: readonly StampedAppend[]): Promise<Set<string>> {
    return this.#append(stamped).catch(async (error) => {
      if (sqlState(error) !== NO_PARTITION) throw error;
      await this.#session.makePartitions(microsecondsOf(stamped[0]?.requestId ?? "") / 1000);
      return this.#append(stamped);
    });
  }

  async #append(stamped: readonly StampedAppend[]): Promise<Set<string>> {
    const sentAt = this.#stamp.now();
    const { rows, clockReadBy = this.#stamp.now() } = await this.#session.append(this.logWriterId, stamped);
    const now = rows.at(-1)?.database_now_ms;
    if (now !== undefined) this.#stamp.observe(now, sentAt, clockReadBy);
    return new Set(rows.map((row) => row.request_id));
  }

  async #withHeldKeys(
    stamped: readonly StampedAppend[],
    written: ReadonlySet<string>,
  ): Promise<FlushResult[]> {
    const wanted = stamped
      .filter(({ requestId }) => !written.has(requestId))
      .map(({ append: { clientId, idempotency, entries } }) => {
        return { client_id: clientId, key: idempotency?.key, bucket: entries[0]?.bucket ?? 0 };
      });
    const { rows } = await this.#session.readHeldKeys(wanted);
    return stamped.map(({ append, requestId }) => {
      if (written.has(requestId)) return { kind: "written", requestId };
      const holder = rows.find(
        (row) => row.client_id === append.clientId && row.key === append.idempotency?.key,
      );
      if (holder === undefined)
        throw new Error("An append was neither written nor found by its Idempotency-Key.");
      // The holder may be another node's request: later requests of the client must get greater ids here too.
      this.#stamp.raise(holder.request_id);
      return { kind: "held", requestId: holder.request_id, fingerprint: holder.fingerprint };
    });
  }
}

/** Limits of one flush; larger ones only delay the next. */
const FLUSH_APPENDS_MAX = 128;
const FLUSH_BYTES_MAX = 8 * 1_048_576;
/** Limits of the queue for a flush; beyond them the answer is 503. */
const WAITING_BYTES_MAX = 64 * 1_048_576;
const WAITING_APPENDS_MAX = 4_096;
const REOPEN_DELAY_MS = 200;
const RETRY_AFTER_SECONDS = 2;
/** About how long a shard that moves accepts no writes. */
const MOVING_SECONDS = 1;
/** Polling interval of `close`. */
const CLOSE_POLL_MS = 5;

/** The result of an append, and the start of its flush in ms of the log's clock. */
interface Flushed {
  readonly result: FlushResult;
  readonly flushedAt: number;
}

interface Waiting {
  readonly append: PendingAppend;
  readonly resolve: (flushed: Flushed) => void;
  readonly reject: (error: unknown) => void;
}

export interface AcceptLogEvents {
  flushed?(appends: number, bytes: number, durationMs: number): void;
  /** Called with the buckets of each flush. */
  appended?(buckets: ReadonlySet<number>): void;
  /** A log writer was lost or could not be opened. */
  failed?(error: unknown): void;
}

/** Database and clock of an accept log, which the simulation replaces. */
export interface AcceptLogEnvironment {
  readonly openSession: OpenLogWriterSession;
  readonly time: Time;
  readonly servers?: AcceptLogWorkers | undefined;
}

/** The Citus workers that have buckets. */
export interface AcceptLogWorkers {
  readonly known: BucketServers;
  readonly openAt: (server: BucketServer) => OpenLogWriterSession;
}

/** The batch may or may not have been stored: sent again with its Idempotency-Key, it is stored once. */
function unavailable(cause: unknown, retryAfterSeconds = RETRY_AFTER_SECONDS): ServiceError {
  return new ServiceError("bellhop.accept.Unavailable", { cause, retryAfterSeconds });
}

/** The cause of an append that was refused before anything was written. */
class NotAppended extends Error {}

/** Whether a failed append wrote nothing. Otherwise its outcome is unknown. */
export function isSurelyNotAppended(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return isDataError(error);
  return error.cause instanceof NotAppended || error.cause instanceof BucketsMoving;
}

function bucketsOf({ entries }: PendingAppend): number[] {
  return entries.map(({ bucket }) => bucket);
}

/** A slot for a log writer, which is reopened when lost. */
class Writer {
  logWriter: LogWriter | undefined;
  busy = false;
}

interface WriterGroupParts {
  readonly openSession: OpenLogWriterSession;
  readonly time: Time;
  readonly events: AcceptLogEvents;
  readonly stamp: RequestIdStamp;
  readonly writers: number;
  /** Whether the server still has buckets. Default: always. */
  readonly isNeeded?: () => boolean;
}

/** The log writers of one server and their queue. Appends that arrive during a flush share the next one (group commit). */
class WriterGroup {
  readonly #parts: WriterGroupParts;
  readonly #writers: Writer[];
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isOpening = true;
  #closed = false;

  constructor(parts: WriterGroupParts) {
    this.#parts = parts;
    this.#writers = Array.from({ length: parts.writers }, () => new Writer());
  }

  /** Throws if a log writer cannot be opened. */
  async open(): Promise<void> {
    try {
      for (const writer of this.#writers) await this.#openLogWriter(writer);
    } finally {
      this.#isOpening = false;
    }
  }

  /** Opens the log writers, retrying until each is open. */
  async openInTime(): Promise<void> {
    await this.open().catch((error) => {
      this.#parts.events.failed?.(error);
      if (!this.ready) this.#refuseWaiting(error);
      for (const writer of this.#writers) void this.#reopen(writer);
    });
  }

  get ready(): boolean {
    return !this.#closed && this.#writers.some((writer) => writer.logWriter !== undefined);
  }

  hasRoom(bytes: number): boolean {
    return (
      (this.ready || this.#isOpening) &&
      this.#waiting.length < WAITING_APPENDS_MAX &&
      this.#waitingBytes + bytes < WAITING_BYTES_MAX
    );
  }

  /** Writes the queued appends, then closes the log writers. */
  async close(): Promise<void> {
    while (this.ready && (this.#waiting.length > 0 || this.#writers.some((writer) => writer.busy))) {
      await new Promise<void>((resolve) => this.#parts.time.after(CLOSE_POLL_MS, resolve));
    }
    this.#closed = true;
    this.#refuseWaiting(new Error("The service is stopping."));
    await Promise.all(this.#writers.map((writer) => writer.logWriter?.close().catch(() => undefined)));
  }

  enqueue(append: PendingAppend): Promise<Flushed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ append, resolve, reject });
      this.#waitingBytes += append.bytes;
      this.#startIdleWriter();
    });
  }

  #startIdleWriter(): void {
    const idle = this.#writers.find((writer) => !writer.busy && writer.logWriter !== undefined);
    if (idle !== undefined) void this.#drain(idle);
  }

  async #drain(writer: Writer): Promise<void> {
    writer.busy = true;
    // After one turn of the event loop, requests whose bodies arrived together share a flush.
    await new Promise<void>((resolve) => this.#parts.time.nextTurn(resolve));
    while (this.#waiting.length > 0 && writer.logWriter !== undefined) {
      await this.#flush(writer.logWriter, this.#takeFlush());
    }
    writer.busy = false;
    // The log writer may have been lost and reopened meanwhile.
    if (this.#waiting.length > 0) this.#startIdleWriter();
  }

  #takeFlush(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { append } of this.#waiting) {
      if (count === FLUSH_APPENDS_MAX || (count > 0 && bytes + append.bytes > FLUSH_BYTES_MAX)) break;
      bytes += append.bytes;
      count += 1;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  async #flush(logWriter: LogWriter, flush: readonly Waiting[]): Promise<void> {
    const startedAt = this.#parts.time.now();
    try {
      const results = await logWriter.flush(flush.map((waiting) => waiting.append));
      const bytes = flush.reduce((sum, waiting) => sum + waiting.append.bytes, 0);
      this.#parts.events.flushed?.(flush.length, bytes, this.#parts.time.now() - startedAt);
      this.#parts.events.appended?.(
        new Set(flush.flatMap(({ append }) => append.entries.map((entry) => entry.bucket))),
      );
      flush.forEach((waiting, at) => {
        waiting.resolve({ result: results[at] as FlushResult, flushedAt: startedAt });
      });
    } catch (error) {
      if (error instanceof BucketsMoving) return this.#flushOthers(logWriter, flush, error);
      if (isDataError(error) && flush.length > 1) {
        // Nothing was written: retry each append alone to find the one that fails.
        for (const waiting of flush) await this.#flush(logWriter, [waiting]);
        return;
      }
      this.#parts.events.failed?.(error);
      if (isDataError(error)) {
        for (const waiting of flush) waiting.reject(error);
        return;
      }
      for (const waiting of flush) waiting.reject(unavailable(error));
      // The outcome is unknown, so the log writer must not write another flush.
      this.#logWriterLost(logWriter, error);
      void logWriter.close().catch(() => undefined);
    }
  }

  /** Refuses appends to buckets that are being moved and writes the others. */
  async #flushOthers(logWriter: LogWriter, flush: readonly Waiting[], moving: BucketsMoving): Promise<void> {
    const isMoving = ({ append }: Waiting) => bucketsOf(append).some((bucket) => moving.buckets.has(bucket));
    for (const waiting of flush) if (isMoving(waiting)) waiting.reject(unavailable(moving, MOVING_SECONDS));
    const others = flush.filter((waiting) => !isMoving(waiting));
    if (others.length > 0) await this.#flush(logWriter, others);
  }

  async #openLogWriter(writer: Writer): Promise<void> {
    let opened: LogWriter | undefined;
    let lostBefore = false;
    const lost = (error: unknown) => {
      if (opened === undefined) lostBefore = true;
      else this.#logWriterLost(opened, error);
    };
    opened = await LogWriter.open(this.#parts.openSession, this.#parts.stamp, lost);
    if (this.#closed) return opened.close();
    if (lostBefore) throw new Error("The log writer's connection was lost while it opened.");
    writer.logWriter = opened;
    this.#startIdleWriter();
  }

  #logWriterLost(logWriter: LogWriter, error: unknown): void {
    const writer = this.#writers.find((candidate) => candidate.logWriter === logWriter);
    if (writer === undefined || this.#closed) return;
    writer.logWriter = undefined;
    this.#parts.events.failed?.(error);
    if (!this.ready) this.#refuseWaiting(error);
    void this.#reopen(writer);
  }

  async #reopen(writer: Writer): Promise<void> {
    while (!this.#closed && writer.logWriter === undefined) {
      await new Promise<void>((resolve) => this.#parts.time.after(REOPEN_DELAY_MS, resolve));
      if (this.#closed || this.#parts.isNeeded?.() === false) return;
      await this.#openLogWriter(writer).catch((error) => this.#parts.events.failed?.(error));
    }
  }

  #refuseWaiting(cause: unknown): void {
    const refusal = new NotAppended("The append was waiting when the last log writer ended.", { cause });
    for (const waiting of this.#waiting.splice(0)) waiting.reject(unavailable(refusal));
    this.#waitingBytes = 0;
  }
}

/**
 * The durable log. `append` resolves once the batch is fsynced in PostgreSQL's write-ahead log, and rejects with
 * `bellhop.accept.Unavailable` if it is not or the outcome is unknown. On Citus the worker that has its buckets writes a batch, so
 * that a worker that hangs delays no other.
 */
export class AcceptLog {
  readonly #first: WriterGroup;
  readonly #atServers = new Map<string, WriterGroup>();
  readonly #servers: AcceptLogWorkers | undefined;
  readonly #parts: Omit<WriterGroupParts, "openSession">;

  private constructor(environment: AcceptLogEnvironment, parts: Omit<WriterGroupParts, "openSession">) {
    this.#parts = parts;
    this.#servers = environment.servers;
    this.#first = new WriterGroup({ ...parts, openSession: environment.openSession });
  }

  /** Opens `writers` log writers per server. Throws if those at the first server cannot be opened. */
  static async open(
    clientConfig: pg.ClientConfig,
    writers: number,
    events: AcceptLogEvents,
    stamp = new RequestIdStamp(),
    settings: LogWriterSettings = {},
  ): Promise<AcceptLog> {
    const known = await BucketServers.find(clientConfig);
    const openAt = (server: BucketServer) => logWriterSessions(clientConfig, settings, server);
    const environment = {
      openSession: logWriterSessions(clientConfig, settings),
      time: machineTime,
      servers: known && { known, openAt },
    };
    return AcceptLog.openOn(environment, writers, events, stamp);
  }

  static async openOn(
    environment: AcceptLogEnvironment,
    writers: number,
    events: AcceptLogEvents,
    stamp: RequestIdStamp,
  ): Promise<AcceptLog> {
    const log = new AcceptLog(environment, { time: environment.time, events, stamp, writers });
    await log.#first.open();
    for (const server of environment.servers?.known.all ?? []) log.#groupAt(server);
    return log;
  }

  /** Whether any log writer is open: batches for that server can be written. */
  get ready(): boolean {
    return [this.#first, ...this.#atServers.values()].some((group) => group.ready);
  }

  /** Throws ServiceError: Unavailable (the batch may or may not be stored), or IdempotencyKeyReused. */
  async append(submission: Submission): Promise<Acceptance> {
    // Packing reduces a batch to about an eighth. On Citus its server is known only afterwards.
    if (this.#servers === undefined && !this.#first.hasRoom(submission.body.length / 8))
      throw unavailable(new NotAppended("The accept queue is full or no log writer is open."));
    const packed = entriesOf(submission);
    const append = packed instanceof Promise ? await packed : packed;
    // An uncompressed chunk may be a view of the body.
    if (append.entries.every(({ body }) => body?.buffer !== submission.body.buffer))
      submission.packed?.(append.bytes);
    const { result, flushedAt } = await this.#enqueue(append);
    if (result.kind === "written") return { requestId: result.requestId, repeated: false, flushedAt };
    if (result.fingerprint !== submission.idempotency?.fingerprint) {
      throw new ServiceError("bellhop.accept.IdempotencyKeyReused");
    }
    return { requestId: result.requestId, repeated: true, flushedAt };
  }

  /** Writes an operator's release or discard, and returns its request id. */
  async appendResolution(resolution: Resolution): Promise<string> {
    return (await this.#enqueue(entryOfResolution(resolution))).result.requestId;
  }

  /** Writes the queued appends, then closes all log writers. */
  async close(): Promise<void> {
    await Promise.all([this.#first, ...this.#atServers.values()].map((group) => group.close()));
  }

  async #enqueue(append: PendingAppend): Promise<Flushed> {
    const group = this.#groupOf(append);
    if (!group.hasRoom(append.bytes))
      throw unavailable(new NotAppended("The accept queue is full or no log writer is open."));
    return group.enqueue(append);
  }

  #groupOf(append: PendingAppend): WriterGroup {
    if (this.#servers === undefined) return this.#first;
    const { known } = this.#servers;
    const buckets = bucketsOf(append);
    if (known.isMoving(buckets))
      throw unavailable(new NotAppended("Its shard is being moved."), MOVING_SECONDS);
    const server = known.having(buckets, append.idempotency !== null);
    return server === undefined ? this.#first : this.#groupAt(server);
  }

  #groupAt(server: BucketServer): WriterGroup {
    const known = this.#atServers.get(server.key);
    if (known !== undefined) return known;
    const group = new WriterGroup({
      ...this.#parts,
      openSession: (this.#servers as AcceptLogWorkers).openAt(server),
      isNeeded: () => this.#isNeeded(server.key),
    });
    this.#atServers.set(server.key, group);
    void group.openInTime();
    return group;
  }

  /** Called after failing to open a log writer: the server may no longer have buckets. */
  #isNeeded(key: string): boolean {
    const known = this.#servers?.known;
    known?.refresh();
    const isNeeded = known?.all.some((server) => server.key === key) === true;
    if (!isNeeded) this.#atServers.delete(key);
    return isNeeded;
  }
}

/**
 * The log of large batches and those of backfills, which appliers read last. It has separate log writers, opened with the first such
 * batch, so that other nodes hold no connection.
 */
export class YieldingLog {
  readonly #openLog: () => Promise<AcceptLog>;
  #log: Promise<AcceptLog> | undefined;
  #closed = false;

  constructor(openLog: () => Promise<AcceptLog>) {
    this.#openLog = openLog;
  }

  /** Rejects with ServiceError `bellhop.accept.Unavailable` if it cannot be opened; the next batch tries again. */
  open(): Promise<AcceptLog> {
    if (this.#closed) return Promise.reject(unavailable(new Error("The service is stopping.")));
    this.#log ??= this.#openLog().catch((error: unknown) => {
      this.#log = undefined;
      throw unavailable(error);
    });
    return this.#log;
  }

  /** Flushes what is waiting, then closes the log writers. */
  async close(): Promise<void> {
    this.#closed = true;
    const log = await this.#log?.catch(() => undefined);
    await log?.close();
  }
}
