import type { ResourceLetter } from "#contract/resource.ts";
import { recordCountOf } from "../ingest/log/stored-body.ts";
import type { Siblings } from "../platform/runtime/shared-memory.ts";
import { machineTime, type Time } from "../platform/runtime/time.ts";
import type { OutcomeCounts } from "./apply-parts.ts";
import { isComplete, type LogPart } from "./backlog.ts";
import { LeaseLost, Leases } from "./leases.ts";
import {
  type ApplySession,
  applyRun,
  bucketsOf,
  FIRST_RECORDS,
  type OpenApplySession,
  type ParsedRun,
  readParts,
  recordsOf,
} from "./pipeline.ts";
import { EventLoopDelays, FairShare, type Rebalanced, type WaitingSession } from "./rebalance.ts";

/** About 20 ms of an applier. A push of 730 inventory dates stays below it: applying those apart cost a tenth more CPU. */
const LARGE_RECORDS: Readonly<Record<ResourceLetter, number>> = { i: 1_000, r: 256, g: 256 };
/** Larger transactions are hardly cheaper per record, and lose more work when a node is killed. */
const RECORDS_MAX = 2_000;
const RECORDS_GROWTH = 4;
/** Transactions that take this long do not grow further. */
const LONG_MS = 1_000;
/** Longest pause before the next transaction, during which single records accumulate. */
const REST_MS_MAX = 50;
const RETRY_MS_MAX = 5_000;
const RETRY_MS_FIRST = 100;

/** Whether a part, or the next piece of it, is slow enough for senders to notice, so that small parts go first. */
export function isLarge({ resource, layout, rejectedIndexes, progress }: LogPart): boolean {
  const records = layout === null ? 0 : recordCountOf(layout);
  return progress !== undefined || records - rejectedIndexes.size >= LARGE_RECORDS[resource];
}

/** The parts before the first large one of each log writer and bucket, and the first large one of all. */
function smallOf(
  parts: readonly LogPart[],
  large: (part: LogPart) => boolean,
): { readonly small: readonly LogPart[]; readonly firstLarge: LogPart | undefined } {
  const stopped = new Set<string>();
  let firstLarge: LogPart | undefined;
  const small = parts.filter((part) => {
    const place = `${part.bucket} ${part.logWriterId}`;
    if (!stopped.has(place) && large(part)) {
      stopped.add(place);
      firstLarge ??= part;
    }
    return !stopped.has(place);
  });
  return { small, firstLarge };
}

/** The buckets to read now. `polled`: the turn used up a poll, so reading them again needs another one. */
export interface Turn {
  readonly buckets: readonly number[];
  readonly polled: boolean;
}

/** A bucket whose last transaction failed: read alone, not before `dueAt`. */
interface Retry {
  readonly dueAt: number;
  readonly failures: number;
}

/**
 * Chooses what an applier applies next, and how much per transaction. In order of priority:
 *
 * 1. a bucket whose transaction failed, alone, once its delay has passed;
 * 2. live parts before large ones and those of backfills, which yield for some seconds (read-backlog.sql);
 * 3. small parts before large ones, or a piece of one, which take turns with them one at a time.
 *
 * Hinted buckets are read at once, all buckets when a poll is due. Transactions start small and grow while commits are fast.
 * Times are milliseconds of any monotonic clock.
 */
export class Scheduler {
  readonly #isLarge: (part: LogPart) => boolean;
  readonly #retries = new Map<number, Retry>();
  #hinted = new Set<number>();
  #pollDue = true;
  #isLargeNext = false;
  #recordsMax = FIRST_RECORDS;

  constructor(large = isLarge) {
    this.#isLarge = large;
  }

  /** Whether `next` may return buckets now. */
  get hasWork(): boolean {
    return this.#pollDue || this.#hinted.size > 0;
  }

  /** Target number of records of the next transaction. */
  get recordsMax(): number {
    return this.#recordsMax;
  }

  hint(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#hinted.add(bucket);
  }

  poll(): void {
    this.#pollDue = true;
  }

  /** Schedules the buckets of a turn again, as they may have further parts. */
  readAgain({ buckets, polled }: Turn): void {
    this.hint(buckets);
    if (polled) this.poll();
  }

  next(owned: readonly number[], now: number): Turn {
    const due = owned.find((bucket) => (this.#retries.get(bucket)?.dueAt ?? Number.POSITIVE_INFINITY) <= now);
    if (due !== undefined) return { buckets: [due], polled: false };
    const polled = this.#pollDue;
    const buckets = owned.filter(
      (bucket) => (polled || this.#hinted.has(bucket)) && !this.#retries.has(bucket),
    );
    this.#pollDue = false;
    this.#hinted = new Set();
    return { buckets, polled };
  }

  /** Chooses the parts of the next transaction, a prefix of each log writer and bucket. */
  choose(read: readonly LogPart[]): readonly LogPart[] {
    const { small, firstLarge } = smallOf(read, this.#isLarge);
    const isLargeNext = this.#isLargeNext;
    this.#isLargeNext = false;
    if (firstLarge === undefined || small.length === 0) return read;
    if (isLargeNext) {
      const { bucket, logWriterId } = firstLarge;
      return read
        .slice(0, read.indexOf(firstLarge) + 1)
        .filter((part) => part.bucket === bucket && part.logWriterId === logWriterId);
    }
    this.#isLargeNext = true;
    return small;
  }

  /** Records that these buckets were applied or had nothing to apply. */
  succeeded(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#retries.delete(bucket);
  }

  /** Records that a transaction of these buckets failed. Each is retried alone, to find the one that causes it. */
  failed(buckets: readonly number[], now: number): void {
    for (const bucket of buckets) {
      const earlier = this.#retries.get(bucket)?.failures ?? 0;
      const failures = buckets.length === 1 ? earlier + 1 : earlier;
      const delayMs =
        failures === 0 ? 0 : Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(failures, 6));
      this.#retries.set(bucket, { dueAt: now + delayMs, failures });
    }
  }

  /** Starts with small transactions, so that a node that is killed repeatedly still makes progress. */
  beginSession(): void {
    this.#recordsMax = FIRST_RECORDS;
  }

  /**
   * Records a commit and returns the pause in ms before the next transaction. If this one emptied the backlog and more parts
   * arrived meanwhile, the pause is as long as the transaction, so that single records share one.
   */
  committed(durationMs: number, tookAll: boolean): number {
    if (durationMs < LONG_MS) this.#recordsMax = Math.min(RECORDS_MAX, this.#recordsMax * RECORDS_GROWTH);
    return tookAll && this.hasWork ? Math.min(durationMs, REST_MS_MAX) : 0;
  }
}

const RETIRE_MS = 2_000;
/** Interval between rebalances; ±20% jitter keeps appliers from doing it all at once. */
const REBALANCE_MS = 1_000;
/** An applier busy for this long passes buckets on; a handover costs both some milliseconds. */
const BUSY_MS = 250;
/** Connecting is cheap, and a longer delay adds directly to the time after a database outage. */
const RECONNECT_MS_MAX = 1_000;

export interface ApplierEvents {
  /** Called after each commit. */
  applied?(
    counts: OutcomeCounts,
    oldestReceivedAt: Date,
    durationMs: number,
    parts: readonly LogPart[],
  ): void;
  failed?(error: unknown): void;
  /** Called with the complete list of owned buckets. */
  owns?(buckets: readonly number[]): void;
  /** An unresponsive session of another applier or log writer was terminated. */
  ended?(session: WaitingSession): void;
}

export interface ApplierOptions {
  readonly openSession: OpenApplySession;
  readonly time?: Time;
  /** Human-readable name in the lease. */
  readonly owner: string;
  readonly pollMs: number;
  /** The reason why applying is paused, if it is. Called before each transaction. */
  readonly blocked?: () => string | undefined;
  readonly events: ApplierEvents;
  /** Default: `isLarge`. */
  readonly isLarge?: (part: LogPart) => boolean;
  /** The node's other apply threads, which get buckets when they are idle. */
  readonly siblings?: Siblings;
}

/** The parts of the next transaction and the turn that read them. */
interface Run extends Turn, ParsedRun {
  /** Whether the run contains the complete backlog of its buckets. */
  readonly isAll: boolean;
}

/** State of one session. */
interface Holding {
  readonly session: ApplySession;
  readonly leases: Leases;
  readonly share: FairShare;
  rebalanceAt: number;
  retireAt: number;
  pollAt: number;
}

/**
 * Applies the buckets whose leases it holds, one transaction at a time on one connection. Retries all failures with backoff,
 * except those of a single record, which is quarantined.
 */
export class Applier {
  readonly #options: ApplierOptions;
  readonly #time: Time;
  readonly #scheduler: Scheduler;
  readonly #delays: EventLoopDelays;
  #holding: Holding | undefined;
  #stopped = false;
  #busySince: number | undefined;
  #isResting = false;
  /** A sibling has given up buckets for this applier. */
  #isOffered = false;
  #wakeUp: (() => void) | undefined;
  #finished: Promise<void> | undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.#time = options.time ?? machineTime;
    this.#delays = new EventLoopDelays(this.#time);
    this.#scheduler = new Scheduler(options.isLarge);
  }

  start(): void {
    this.#finished = this.#run();
  }

  /** Whether it has a database session. */
  get ready(): boolean {
    return this.#holding !== undefined;
  }

  wake(buckets: Iterable<number>): void {
    this.#scheduler.hint(buckets);
    if (this.#scheduler.hasWork && !this.#isResting) this.#wakeUp?.();
  }

  rebalanceNow(): void {
    if (this.#holding !== undefined) this.#holding.rebalanceAt = 0;
    this.#wakeUp?.();
  }

  /** Takes the buckets that a sibling gave up for this applier. */
  offered(): void {
    this.#isOffered = true;
    this.rebalanceNow();
  }

  /** Waits for the running transaction, then closes the session. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeUp?.();
    await this.#finished;
  }

  async #run(): Promise<void> {
    let failures = 0;
    const watch = this.#delays.watch();
    while (!this.#stopped) {
      const holding = await this.#connect().catch((error) => {
        this.#options.events.failed?.(error);
        return undefined;
      });
      if (holding !== undefined) {
        this.#holding = holding;
        try {
          await this.#applyUntilStopped(holding, () => {
            failures = 0;
          });
        } catch (error) {
          if (!this.#stopped) this.#options.events.failed?.(error);
        } finally {
          this.#holding = undefined;
          this.#options.events.owns?.([]);
          await holding.session.close().catch(() => undefined);
        }
      }
      failures += 1;
      this.#scheduler.poll();
      if (!this.#stopped) await this.#sleep(Math.min(RECONNECT_MS_MAX, 100 * 2 ** Math.min(failures, 4)));
    }
    watch.stop();
  }

  async #connect(): Promise<Holding> {
    const { openSession, owner, events } = this.#options;
    const session = await openSession(owner, (error) => events.failed?.(error));
    const leases = new Leases(session, owner);
    const share = new FairShare(session, leases, session.presenceId, this.#delays);
    this.#scheduler.beginSession();
    return { session, leases, share, rebalanceAt: 0, retireAt: 0, pollAt: 0 };
  }

  async #applyUntilStopped(holding: Holding, succeeded: () => void): Promise<void> {
    let ahead: Run | undefined;
    while (!this.#stopped) {
      const hasRebalanced = await this.#upkeep(holding);
      if (hasRebalanced && ahead !== undefined) {
        this.#scheduler.readAgain(ahead);
        ahead = undefined;
      }
      if (this.#options.blocked?.() !== undefined) {
        if (ahead !== undefined) this.#scheduler.readAgain(ahead);
        ahead = undefined;
        await this.#sleep(this.#untilRebalance(holding));
        continue;
      }
      const run = await this.#passOn(holding, ahead ?? (await this.#readRun(holding)));
      ahead = undefined;
      if (run !== undefined && run.parts.length > 0) ahead = await this.#applyRun(holding, run);
      else if (run !== undefined) this.#scheduler.succeeded(run.buckets);
      succeeded();
      if ((run?.parts.length ?? 0) === 0 && ahead === undefined && !this.#scheduler.hasWork)
        await this.#sleepIdle(holding);
    }
  }

  /** Advertises this applier as idle while it sleeps. One that is blocked or has no session is not idle: it could not take buckets. */
  async #sleepIdle(holding: Holding): Promise<void> {
    const { siblings } = this.#options;
    siblings?.setIdle(true);
    await this.#sleep(this.#untilRebalance(holding));
    siblings?.setIdle(false);
  }

  #untilRebalance({ pollAt, rebalanceAt }: Holding): number {
    return Math.min(pollAt, rebalanceAt) - this.#time.now();
  }

  /** Returns whether buckets were taken or given up. */
  async #upkeep(holding: Holding): Promise<boolean> {
    const now = this.#time.now();
    // Hints alone would starve batches that other nodes accepted.
    if (now >= holding.pollAt) {
      holding.pollAt = now + this.#options.pollMs;
      this.#scheduler.poll();
    }
    if (now >= holding.retireAt) {
      holding.retireAt = now + RETIRE_MS;
      await holding.session.retireLogWriters();
    }
    if (now < holding.rebalanceAt) return false;
    holding.rebalanceAt = now + REBALANCE_MS * (0.8 + 0.4 * this.#time.chance());
    const isOffered = this.#isOffered;
    this.#isOffered = false;
    return this.#rebalanced(holding, await holding.share.rebalance(now, isOffered));
  }

  #rebalanced({ leases }: Holding, { taken, givenUp, ended }: Rebalanced): boolean {
    const { events } = this.#options;
    for (const session of ended) events.ended?.(session);
    // Before the poll, so that hints of later batches reach this applier.
    events.owns?.(leases.buckets);
    if (taken.length > 0) this.#scheduler.poll();
    return taken.length + givenUp.length > 0;
  }

  /** Reads the next run after the cursors. Undefined if a part cannot be read: its bucket is then retried alone. */
  async #readRun(holding: Holding): Promise<Run | undefined> {
    const { session, leases, share } = holding;
    const turn = this.#scheduler.next(leases.buckets, this.#time.now());
    const { recordsMax } = this.#scheduler;
    const next = turn.buckets.length === 0 ? [] : await session.readBacklog(turn.buckets, recordsMax);
    share.onBacklogRead(next);
    const parts = this.#scheduler.choose(next);
    try {
      const run = await readParts(session, parts);
      const isAll =
        run.read.length === next.length && run.read.every(isComplete) && recordsOf(run) < recordsMax;
      return { ...turn, ...run, isAll };
    } catch (error) {
      this.#options.events.failed?.(error);
      this.#scheduler.failed(bucketsOf(parts), this.#time.now());
      this.#scheduler.readAgain(turn);
      return undefined;
    }
  }

  /**
   * If busy, passes half of the run's buckets to an idle sibling and returns the run without them. Must run between
   * transactions: a transaction cannot give up a bucket that it has locked.
   */
  async #passOn(holding: Holding, run: Run | undefined): Promise<Run | undefined> {
    const buckets = bucketsOf(run?.parts ?? []);
    const busyMs = this.#time.now() - (this.#busySince ?? Number.POSITIVE_INFINITY);
    if (run === undefined || buckets.length < 2 || busyMs < BUSY_MS) return run;
    const offer = this.#options.siblings?.claimIdle();
    if (offer === undefined) return run;
    const givenUp = new Set(buckets.filter((_, at) => at % 2 === 1));
    await holding.leases.giveUp([...givenUp]);
    this.#options.events.owns?.(holding.leases.buckets);
    offer();
    return {
      ...run,
      parts: run.parts.filter(({ bucket }) => !givenUp.has(bucket)),
      read: run.read.filter(({ part }) => !givenUp.has(part.bucket)),
    };
  }

  /**
   * Applies a run and returns the next one if it was read meanwhile. After a failure the buckets are retried one by one, and the
   * run read ahead is dropped because it starts after the failed one.
   */
  async #applyRun(holding: Holding, run: Run): Promise<Run | undefined> {
    let ahead: Promise<Run | undefined> | undefined;
    try {
      const startedAt = this.#time.now();
      this.#busySince ??= startedAt;
      const applied = await applyRun(holding.session, holding.leases, run, () => {
        this.#scheduler.readAgain(run);
        ahead = this.#readRun(holding);
        // Reported when awaited below; the transaction fails with it.
        ahead.catch(() => undefined);
      });
      const durationMs = this.#time.now() - startedAt;
      const tookAll = run.isAll && applied.parts.length === run.parts.length;
      const restMs = this.#scheduler.committed(durationMs, tookAll);
      const { receivedAt } = run.parts[0] as LogPart;
      this.#options.events.applied?.(applied.counts, receivedAt, durationMs, applied.parts);
      this.#scheduler.succeeded(bucketsOf(run.parts));
      if (ahead !== undefined) return await ahead;
      this.#scheduler.readAgain(run);
      this.#isResting = restMs > 0;
      if (this.#isResting) await this.#sleep(restMs);
      this.#isResting = false;
      return undefined;
    } catch (error) {
      this.#options.events.failed?.(error);
      if (!(error instanceof LeaseLost)) this.#scheduler.failed(bucketsOf(run.parts), this.#time.now());
      this.#scheduler.readAgain(run);
      const dropped = await ahead?.catch((cause) => {
        this.#options.events.failed?.(cause);
        return undefined;
      });
      if (dropped !== undefined) this.#scheduler.readAgain(dropped);
      // Throws if the connection is lost: the next session then reads everything again.
      await holding.session.rollback();
      return undefined;
    }
  }

  #sleep(ms: number): Promise<void> {
    this.#busySince = undefined;
    return new Promise((resolve) => {
      const cancel = this.#time.after(Math.max(0, ms), () => done());
      const done = () => {
        cancel();
        this.#wakeUp = undefined;
        resolve();
      };
      this.#wakeUp = done;
      if (this.#stopped) done();
    });
  }
}
