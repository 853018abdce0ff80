import type { Siblings } from "../platform/runtime/shared-memory.ts";
import { machineTime, type Time } from "../platform/runtime/time.ts";
import type { OutcomeCounts } from "./apply-parts.ts";
import { isComplete, type LogPart } from "./backlog.ts";
import { LeaseLost, Leases } from "./leases.ts";
import {
  type ApplySession,
  applyRun,
  bucketsOf,
  type OpenApplySession,
  type ParsedRun,
  readParts,
  recordsOf,
} from "./pipeline.ts";
import { EventLoopDelays, FairShare, type Rebalanced, type WaitingSession } from "./rebalance.ts";
import { Scheduler, type Turn } from "./scheduler.ts";

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
