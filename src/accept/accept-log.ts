import type pg from "pg";
import { isDataError } from "../db/sql-state.ts";
import { ServiceError } from "../errors/registry.ts";
import { machineTime, type Time } from "../memory/time.ts";
import { type FlushResult, Lane } from "./lane.ts";
import type { OpenLaneSession } from "./lane-session.ts";
import { entriesOf, entryOfResolution, type PendingAppend } from "./log-entry.ts";
import { type LaneSettings, laneSessions } from "./postgres-lane-session.ts";
import { RequestIdStamp } from "./request-id.ts";
import type { Acceptance, Resolution, Submission } from "./submission.ts";

/** One flush carries at most this: larger ones only lengthen the wait of those behind. */
const FLUSH_APPENDS_MAX = 128;
const FLUSH_BYTES_MAX = 8 * 1_048_576;
/** Bound of what may wait for a flush; beyond it the answer is 503 at once (back-pressure instead of a queue). */
const WAITING_BYTES_MAX = 64 * 1_048_576;
const WAITING_APPENDS_MAX = 4_096;
const REOPEN_DELAY_MS = 200;
const RETRY_AFTER_SECONDS = 2;
/** How often `close` looks whether all is written: at every turn of the loop it would take the CPU from what it waits for. */
const CLOSE_LOOK_MS = 5;

/** What became of an append, and when the flush began that it was part of. */
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
  /** After each flush: appends, bytes and milliseconds. */
  flushed?(appends: number, bytes: number, durationMs: number): void;
  /** Buckets that have something new to apply. */
  appended?(buckets: ReadonlySet<number>): void;
  /** A lane was lost or could not be opened. */
  failed?(error: unknown): void;
}

/** What the log stands on: PostgreSQL and the machine's time, or a simulation of both. */
export interface AcceptLogGround {
  readonly openSession: OpenLaneSession;
  readonly time: Time;
}

function unavailable(cause: unknown): ServiceError {
  return new ServiceError("bellhop.accept.Unavailable", { cause, retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** One writer: a lane and what it is doing. While it flushes, what arrives waits and shares the next flush. */
class Writer {
  lane: Lane | undefined;
  busy = false;
}

/**
 * The durable log. `append` resolves once the batch is in PostgreSQL's fsynced write-ahead log, and rejects with
 * `bellhop.accept.Unavailable` when it is not or when that cannot be known. Group commit without a timer.
 */
export class AcceptLog {
  readonly #openSession: OpenLaneSession;
  readonly #time: Time;
  readonly #events: AcceptLogEvents;
  readonly #writers: Writer[];
  readonly #stamp: RequestIdStamp;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #closed = false;

  private constructor(
    { openSession, time }: AcceptLogGround,
    writers: number,
    events: AcceptLogEvents,
    stamp: RequestIdStamp,
  ) {
    this.#openSession = openSession;
    this.#time = time;
    this.#events = events;
    this.#stamp = stamp;
    this.#writers = Array.from({ length: writers }, () => new Writer());
  }

  /** Opens `writers` lanes, whose ids come from `stamp`; throws when the first cannot be opened. */
  static open(
    clientConfig: pg.ClientConfig,
    writers: number,
    events: AcceptLogEvents,
    stamp = new RequestIdStamp(),
    settings: LaneSettings = {},
  ): Promise<AcceptLog> {
    const ground = { openSession: laneSessions(clientConfig, settings), time: machineTime };
    return AcceptLog.openOn(ground, writers, events, stamp);
  }

  /** The same on any ground. */
  static async openOn(
    ground: AcceptLogGround,
    writers: number,
    events: AcceptLogEvents,
    stamp: RequestIdStamp,
  ): Promise<AcceptLog> {
    const log = new AcceptLog(ground, writers, events, stamp);
    for (const writer of log.#writers) await log.#openLane(writer);
    return log;
  }

  /** True while at least one lane is open. */
  get ready(): boolean {
    return !this.#closed && this.#writers.some((writer) => writer.lane !== undefined);
  }

  /** Throws ServiceError: Unavailable (nothing is promised), or IdempotencyKeyReused. */
  async append(submission: Submission): Promise<Acceptance> {
    if (!this.#roomFor(submission.body.length))
      throw unavailable(new Error("The accept queue is full or no lane is open."));
    const append = entriesOf(submission);
    // A record that is stored as it came may be a view of the body.
    if (append.entries.every(({ body }) => body?.buffer !== submission.body.buffer))
      submission.packed?.(append.bytes);
    const { result, flushedAt } = await this.#enqueue(append);
    if (result.kind === "written") return { requestId: result.requestId, repeated: false, flushedAt };
    if (result.fingerprint !== submission.idempotency?.fingerprint) {
      throw new ServiceError("bellhop.accept.IdempotencyKeyReused");
    }
    return { requestId: result.requestId, repeated: true, flushedAt };
  }

  /** Writes an operator's release or discard; answers its own id. */
  async appendResolution(resolution: Resolution): Promise<string> {
    if (!this.#roomFor(0)) throw unavailable(new Error("The accept queue is full or no lane is open."));
    return (await this.#enqueue(entryOfResolution(resolution))).result.requestId;
  }

  /** Lets what waits be written, then closes the lanes. */
  async close(): Promise<void> {
    while (this.ready && (this.#waiting.length > 0 || this.#writers.some((writer) => writer.busy))) {
      await new Promise<void>((resolve) => this.#time.after(CLOSE_LOOK_MS, resolve));
    }
    this.#closed = true;
    this.#refuseWaiting(new Error("The service is stopping."));
    await Promise.all(this.#writers.map((writer) => writer.lane?.close().catch(() => undefined)));
  }

  #roomFor(bytes: number): boolean {
    return (
      this.ready &&
      this.#waiting.length < WAITING_APPENDS_MAX &&
      this.#waitingBytes + bytes / 8 < WAITING_BYTES_MAX
    );
  }

  #enqueue(append: PendingAppend): Promise<Flushed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ append, resolve, reject });
      this.#waitingBytes += append.bytes;
      this.#startIdleWriter();
    });
  }

  #startIdleWriter(): void {
    const idle = this.#writers.find((writer) => !writer.busy && writer.lane !== undefined);
    if (idle !== undefined) void this.#drain(idle);
  }

  async #drain(writer: Writer): Promise<void> {
    writer.busy = true;
    // One turn of the loop, so that requests whose bodies arrived together share a flush.
    await new Promise<void>((resolve) => this.#time.nextTurn(resolve));
    while (this.#waiting.length > 0 && writer.lane !== undefined) {
      await this.#flush(writer.lane, this.#takeFlush());
    }
    writer.busy = false;
    // The lane may have been lost and opened again meanwhile: what waits must not wait for the next arrival.
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

  async #flush(lane: Lane, flush: readonly Waiting[]): Promise<void> {
    const startedAt = this.#time.now();
    try {
      const results = await lane.flush(flush.map((waiting) => waiting.append));
      const bytes = flush.reduce((sum, waiting) => sum + waiting.append.bytes, 0);
      this.#events.flushed?.(flush.length, bytes, this.#time.now() - startedAt);
      this.#events.appended?.(
        new Set(flush.flatMap(({ append }) => append.entries.map((entry) => entry.bucket))),
      );
      flush.forEach((waiting, at) => {
        waiting.resolve({ result: results[at] as FlushResult, flushedAt: startedAt });
      });
    } catch (error) {
      if (isDataError(error) && flush.length > 1) {
        // One request spoiled the flush: nothing of it was written, so each is tried by itself.
        for (const waiting of flush) await this.#flush(lane, [waiting]);
        return;
      }
      this.#events.failed?.(error);
      if (isDataError(error)) {
        for (const waiting of flush) waiting.reject(error);
        return;
      }
      for (const waiting of flush) waiting.reject(unavailable(error));
      // Whether it committed is unknown: the lane ends here, and with it the order it stands for.
      this.#laneLost(lane, error);
      void lane.close().catch(() => undefined);
    }
  }

  async #openLane(writer: Writer): Promise<void> {
    let opened: Lane | undefined;
    let lostBefore = false;
    const lost = (error: unknown) => {
      if (opened === undefined) lostBefore = true;
      else this.#laneLost(opened, error);
    };
    opened = await Lane.open(this.#openSession, this.#stamp, lost);
    if (lostBefore) throw new Error("The lane's connection was lost while it opened.");
    writer.lane = opened;
    this.#startIdleWriter();
  }

  #laneLost(lane: Lane, error: unknown): void {
    const writer = this.#writers.find((candidate) => candidate.lane === lane);
    if (writer === undefined || this.#closed) return;
    writer.lane = undefined;
    this.#events.failed?.(error);
    if (!this.ready) this.#refuseWaiting(error);
    void this.#reopen(writer);
  }

  async #reopen(writer: Writer): Promise<void> {
    while (!this.#closed && writer.lane === undefined) {
      await new Promise<void>((resolve) => this.#time.after(REOPEN_DELAY_MS, resolve));
      if (this.#closed) return;
      await this.#openLane(writer).catch((error) => this.#events.failed?.(error));
    }
    if (this.#closed) await writer.lane?.close().catch(() => undefined);
  }

  #refuseWaiting(cause: unknown): void {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(unavailable(cause));
    this.#waitingBytes = 0;
  }
}
