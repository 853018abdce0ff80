import type { ResourceLetter } from "#contract/resource.ts";
import { recordCountOf } from "../ingest/log/stored-body.ts";
import type { Siblings } from "../platform/runtime/shared-memory.ts";
import { machineTime, type Time } from "../platform/runtime/time.ts";
import type { OutcomeCounts } from "./apply-parts.ts";
import type { LogPart } from "./backlog.ts";
import { type Lease, LeaseLost, Leases } from "./leases.ts";
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
import {
  type ClusterSession,
  EventLoopDelays,
  FairShare,
  type Rebalanced,
  type Rebalancer,
  type WaitingSession,
} from "./rebalance.ts";

/**
 * Some 20 ms of an applier. The 730 dates of a hotel's inventory are not large: splitting them off cost a
 * tenth more CPU.
 */
const LARGE_RECORDS: Readonly<Record<ResourceLetter, number>> = { i: 1_000, r: 256, g: 256 };
/**
 * A part of this size takes an applier tenths of a second (docs/decisions/0007); a push of 730 dates
 * must not reach it.
 */
const BULK_RECORDS = 2_000;
const BULK_STORED_BYTES = 1_048_576;

/** Larger transactions are hardly cheaper a record, and what is undone when a node is killed grows with them. */
const RECORDS_MAX = 2_000;
const RECORDS_GROWTH = 4;
/** A transaction that took so long is large enough for the machine, as busy as it is. */
const LONG_MS = 1_000;
/** How long what arrives one by one waits at most for others to share its transaction. */
const REST_MS_MAX = 50;
const RETRY_MS_MAX = 5_000;
const RETRY_MS_FIRST = 100;

/** What decides when a part is applied. */
export interface PartWeight {
  /** Senders notice that they wait for it, so small parts of other buckets go first. */
  readonly isLarge: boolean;
  /** Live parts do not wait for it at all: it goes to the bulk applier. */
  readonly isBulk: boolean;
}

/** Weighs a part by its records and bytes; what belongs to a backfill is bulk whatever its size. */
export function weighPart({ resource, layout, body, rejectedIndexes, isBackfill }: LogPart): PartWeight {
  const records = layout === null ? 0 : recordCountOf(layout);
  const isBulk = isBackfill === true || records >= BULK_RECORDS || (body?.length ?? 0) >= BULK_STORED_BYTES;
  return {
    isLarge: records - rejectedIndexes.size >= LARGE_RECORDS[resource],
    isBulk: layout !== null && body !== null && isBulk,
  };
}

/** The parts before the first of each bucket that `stops`, and those firsts by bucket. */
function before(
  parts: readonly LogPart[],
  stops: (part: LogPart) => boolean,
): { readonly parts: readonly LogPart[]; readonly stopped: ReadonlyMap<number, LogPart> } {
  const stopped = new Map<number, LogPart>();
  const taken = parts.filter((part) => {
    if (!stopped.has(part.bucket) && stops(part)) stopped.set(part.bucket, part);
    return !stopped.has(part.bucket);
  });
  return { parts: taken, stopped };
}

/** The buckets to read now; `polled` when they are all that are due, so that what remains of them needs another poll. */
export interface Turn {
  readonly buckets: readonly number[];
  readonly polled: boolean;
}

/** A bucket whose last transaction failed: read in a turn of its own, and not before `dueAt`. */
interface Retry {
  readonly dueAt: number;
  readonly failures: number;
}

export interface SchedulerOptions {
  /** By default weighPart. */
  readonly weigh?: ((part: LogPart) => PartWeight) | undefined;
  /** Bulk parts are left to another applier. */
  readonly handsOverBulk?: boolean;
}

/**
 * What an applier applies next, and how much of it at once. In order of priority:
 *
 * 1. a bucket whose transaction failed, in a turn of its own once its delay has passed, so that it holds up no other;
 * 2. live parts before backfills (read-backlog.sql) and bulk, which goes to the bulk applier;
 * 3. small parts before large ones, which come one at a time in turn with them.
 *
 * Buckets with a hint of something new are read at once, all of them when a poll is due. A transaction is bounded by records
 * (few at first, more with each that commits soon) and bytes. Times are milliseconds of any monotonic clock.
 */
export class Scheduler {
  readonly #weigh: (part: LogPart) => PartWeight;
  readonly #handsOverBulk: boolean;
  readonly #retries = new Map<number, Retry>();
  #hinted = new Set<number>();
  #pollDue = true;
  #isLargeNext = false;
  #recordsMax = FIRST_RECORDS;

  constructor({ weigh = weighPart, handsOverBulk = false }: SchedulerOptions = {}) {
    this.#weigh = weigh;
    this.#handsOverBulk = handsOverBulk;
  }

  /** Whether `next` may find something without waiting. */
  get hasWork(): boolean {
    return this.#pollDue || this.#hinted.size > 0;
  }

  /** About how many records the next transaction takes. */
  get recordsMax(): number {
    return this.#recordsMax;
  }

  hint(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#hinted.add(bucket);
  }

  poll(): void {
    this.#pollDue = true;
  }

  /** There may be more of these buckets, whether or not what was read of them is applied. */
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

  /**
   * The parts that the next transaction applies, the first ones of each bucket, and the buckets whose next
   * part is bulk.
   */
  choose(read: readonly LogPart[]): { readonly parts: readonly LogPart[]; readonly bulk: readonly number[] } {
    const live = before(read, (part) => this.#handsOverBulk && this.#weigh(part).isBulk);
    const begun = new Set(live.parts.map(({ bucket }) => bucket));
    const bulk = [...live.stopped.keys()].filter((bucket) => !begun.has(bucket));
    return { parts: this.#smallBeforeLarge(live.parts), bulk };
  }

  #smallBeforeLarge(parts: readonly LogPart[]): readonly LogPart[] {
    const small = before(parts, (part) => this.#weigh(part).isLarge);
    const [first] = small.stopped.values();
    const isLargeNext = this.#isLargeNext;
    this.#isLargeNext = false;
    if (first === undefined || small.parts.length === 0) return parts;
    if (isLargeNext)
      return parts.slice(0, parts.indexOf(first) + 1).filter(({ bucket }) => bucket === first.bucket);
    this.#isLargeNext = true;
    return small.parts;
  }

  /** These buckets were read and applied, or had nothing to apply. */
  succeeded(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#retries.delete(bucket);
  }

  /** A transaction of these buckets failed. Of several it is not known which is to blame: each is tried on its own. */
  failed(buckets: readonly number[], now: number): void {
    for (const bucket of buckets) {
      const earlier = this.#retries.get(bucket)?.failures ?? 0;
      const failures = buckets.length === 1 ? earlier + 1 : earlier;
      const delayMs =
        failures === 0 ? 0 : Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(failures, 6));
      this.#retries.set(bucket, { dueAt: now + delayMs, failures });
    }
  }

  /**
   * Begins with small transactions, so that a node killed again and again keeps what it committed in
   * between.
   */
  beginSession(): void {
    this.#recordsMax = FIRST_RECORDS;
  }

  /**
   * A transaction took so long. Answers how many milliseconds to rest before the next: where it took all that was waiting and
   * more has come meanwhile, as long again, so that records that come one by one share a transaction.
   */
  committed(durationMs: number, tookAll: boolean): number {
    if (durationMs < LONG_MS) this.#recordsMax = Math.min(RECORDS_MAX, this.#recordsMax * RECORDS_GROWTH);
    return tookAll && this.hasWork ? Math.min(durationMs, REST_MS_MAX) : 0;
  }
}

const RETIRE_MS = 2_000;
/** How often an applier rebalances its buckets, give or take a fifth, so that not all do at once. */
const REBALANCE_MS = 1_000;
/** An applier that has been busy for so long passes buckets on: handing one over takes the two some milliseconds. */
const BUSY_MS = 250;
/** Until the next try for a session: one is cheap, and with 5 s a database that was away for 3 was noticed 3 s late. */
const RECONNECT_MS_MAX = 1_000;
export interface ApplierEvents {
  /** After each transaction: what its records became, when its oldest part was received, milliseconds, and its parts. */
  applied?(
    counts: OutcomeCounts,
    oldestReceivedAt: Date,
    durationMs: number,
    parts: readonly LogPart[],
  ): void;
  failed?(error: unknown): void;
  /** Which buckets are applied here from now on. */
  owns?(buckets: readonly number[]): void;
  /** Another's session was ended: it held something and was unresponsive. */
  ended?(session: WaitingSession): void;
}

export interface ApplierOptions {
  readonly openSession: OpenApplySession;
  readonly time?: Time;
  /** Names this applier in the lease, for people. */
  readonly owner: string;
  readonly pollMs: number;
  /** Why nothing may be applied now; asked before each transaction. */
  readonly blocked?: () => string | undefined;
  readonly events: ApplierEvents;
  /** By default weighPart. */
  readonly weigh?: (part: LogPart) => PartWeight;
  /** Gets the leases given up of buckets whose next part is bulk; without it they are applied here like all others. */
  readonly handOverBulk?: (free: readonly Lease[]) => void;
  /** The appliers of the node's other threads: buckets are passed on to them when they are idle. */
  readonly siblings?: Siblings;
  /** How it comes by its buckets; by default it has its fair share among all appliers there are. */
  readonly rebalancer?: (session: ClusterSession, leases: Leases) => Rebalancer;
}

/** What is applied next, the turn in which it was read, and the buckets whose next part is for the bulk applier. */
interface Run extends Turn, ParsedRun {
  readonly bulk: readonly number[];
  /** Whether it is all that was waiting in those buckets. */
  readonly isAll: boolean;
}

/** What an applier holds by one session; all of it ends with that. */
interface Holding {
  readonly session: ApplySession;
  readonly leases: Leases;
  readonly rebalancer: Rebalancer;
  rebalanceAt: number;
  retireAt: number;
  pollAt: number;
}

/**
 * Applies the buckets whose leases it holds, one transaction after another on one connection. Every failure
 * but a record's own is retried, with growing delays.
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
  /** Another has given up buckets for this one. */
  #isOffered = false;
  #wakeUp: (() => void) | undefined;
  #finished: Promise<void> | undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.#time = options.time ?? machineTime;
    this.#delays = new EventLoopDelays(this.#time);
    const { weigh, handOverBulk } = options;
    this.#scheduler = new Scheduler({ weigh, handsOverBulk: handOverBulk !== undefined });
  }

  start(): void {
    this.#finished = this.#run();
  }

  /** Whether it has a session to apply on. */
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

  /** Has it take the buckets that a sibling gave up for it. */
  offered(): void {
    this.#isOffered = true;
    this.rebalanceNow();
  }

  /** Lets the running transaction end, then releases everything. */
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
    const rebalancer =
      this.#options.rebalancer?.(session, leases) ??
      new FairShare(session, leases, session.presenceId, this.#delays);
    this.#scheduler.beginSession();
    return { session, leases, rebalancer, rebalanceAt: 0, retireAt: 0, pollAt: 0 };
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
      if (run !== undefined && run.bulk.length > 0) await this.#handOverBulk(holding, run);
      if (run !== undefined && run.parts.length > 0) ahead = await this.#applyRun(holding, run);
      else if (run !== undefined) this.#scheduler.succeeded(run.buckets);
      succeeded();
      if ((run?.parts.length ?? 0) === 0 && ahead === undefined && !this.#scheduler.hasWork)
        await this.#sleepIdle(holding);
    }
  }

  /** Says meanwhile that it could take buckets; while it is blocked or has no session it could not. */
  async #sleepIdle(holding: Holding): Promise<void> {
    const { siblings } = this.#options;
    siblings?.setIdle(true);
    await this.#sleep(this.#untilRebalance(holding));
    siblings?.setIdle(false);
  }

  #untilRebalance({ pollAt, rebalanceAt }: Holding): number {
    return Math.min(pollAt, rebalanceAt) - this.#time.now();
  }

  /** Answers whether buckets were taken or given up. */
  async #upkeep(holding: Holding): Promise<boolean> {
    const now = this.#time.now();
    // Polls on schedule even when busy with hints; otherwise batches that other nodes accepted would wait.
    if (now >= holding.pollAt) {
      holding.pollAt = now + this.#options.pollMs;
      this.#scheduler.poll();
    }
    if (now >= holding.retireAt) {
      holding.retireAt = now + RETIRE_MS;
      await holding.session.retireLogWriters();
    }
    if (now < holding.rebalanceAt && holding.rebalancer.isDue !== true) return false;
    holding.rebalanceAt = now + REBALANCE_MS * (0.8 + 0.4 * this.#time.chance());
    const isOffered = this.#isOffered;
    this.#isOffered = false;
    return this.#rebalanced(holding, await holding.rebalancer.rebalance(now, isOffered));
  }

  #rebalanced({ leases }: Holding, { taken, givenUp, ended }: Rebalanced): boolean {
    const { events } = this.#options;
    for (const session of ended) events.ended?.(session);
    // Before the poll, so that hints of what is accepted after it come to this applier.
    events.owns?.(leases.buckets);
    if (taken.length > 0) this.#scheduler.poll();
    return taken.length + givenUp.length > 0;
  }

  /**
   * Reads the next run from the cursors on. Undefined when a part cannot be read: its bucket is then tried
   * again alone.
   */
  async #readRun(holding: Holding): Promise<Run | undefined> {
    const { session, leases, rebalancer } = holding;
    const turn = this.#scheduler.next(leases.buckets, this.#time.now());
    const { recordsMax } = this.#scheduler;
    const next = turn.buckets.length === 0 ? [] : await session.readBacklog(turn.buckets, recordsMax);
    rebalancer.saw?.(turn.buckets, next);
    const { parts, bulk } = this.#scheduler.choose(next);
    try {
      const run = await readParts(session, parts);
      const isAll = run.read.length === next.length && recordsOf(run) < recordsMax;
      return { ...turn, ...run, bulk, isAll };
    } catch (error) {
      this.#options.events.failed?.(error);
      this.#scheduler.failed(bucketsOf(parts), this.#time.now());
      this.#scheduler.readAgain(turn);
      return undefined;
    }
  }

  /**
   * With more to do than one transaction takes, passes half of the buckets of a run on to a sibling that is idle, and returns the
   * run without them. Between two transactions, as a bucket cannot be given up by one that has locked it.
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

  /** Between two transactions: a bucket cannot be given up by one that has locked it. */
  async #handOverBulk({ leases }: Holding, run: Run): Promise<void> {
    this.#options.handOverBulk?.(await leases.giveUp(run.bulk));
    // A bulk part may have hidden what else there is.
    this.#scheduler.readAgain(run);
  }

  /**
   * Applies a run and returns the next one if it was read meanwhile. After a failure the buckets are tried
   * one by one, and what was read ahead is dropped: it began behind the failed run.
   */
  async #applyRun(holding: Holding, run: Run): Promise<Run | undefined> {
    let ahead: Promise<Run | undefined> | undefined;
    try {
      const startedAt = this.#time.now();
      this.#busySince ??= startedAt;
      const applied = await applyRun(holding.session, holding.leases, run, () => {
        this.#scheduler.readAgain(run);
        ahead = this.#readRun(holding);
        // Its failure is that of the transaction that it is a statement of.
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
      const forgotten = await ahead?.catch((cause) => {
        this.#options.events.failed?.(cause);
        return undefined;
      });
      if (forgotten !== undefined) this.#scheduler.readAgain(forgotten);
      // A session that is lost cannot roll back: it ends here, and the next reads everything anew.
      await holding.session.rollback();
      return undefined;
    }
  }

  #sleep(ms: number): Promise<void> {
    this.#busySince = undefined;
    return new Promise((resolve) => {
      const callOff = this.#time.after(Math.max(0, ms), () => done());
      const done = () => {
        callOff();
        this.#wakeUp = undefined;
        resolve();
      };
      this.#wakeUp = done;
      if (this.#stopped) done();
    });
  }
}
