import { SILENCE_SECONDS_MAX } from "../platform/db/coordination.ts";
import { machineTime, type Time } from "../platform/runtime/time.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Leases } from "./leases.ts";

/**
 * An applier's share of so many buckets; the first ones present have one more where it does not come out even.
 */
export function fairShare(buckets: number, present: readonly string[], me: string): number {
  const appliers = present.includes(me) ? present : [...present, me];
  const least = Math.floor(buckets / appliers.length);
  return least + (appliers.indexOf(me) < buckets % appliers.length ? 1 : 0);
}

/**
 * A bucket free for so long may be taken by any applier. Two cluster views are at most 1.2 s apart, so the
 * applier that lacks it has had one.
 */
const OVERDUE_MS = 1_500;
/** So long a bucket beyond the share is kept, or it would be given up and taken again until the other applier is back. */
const SURPLUS_KEPT_MS = 10_000;

/** What an applier sees of the others. */
export interface ClusterView {
  /** Ids of the appliers present, in the order in which they came. */
  readonly appliers: readonly string[];
  /** How many they share: all of the server. */
  readonly buckets: number;
  readonly free: readonly Lease[];
  /** What this session holds. */
  readonly held: readonly Lease[];
  readonly waiting: readonly WaitingSession[];
}

/** What rebalancing asks of the database. */
export interface ClusterSession {
  /** Counts a session as present that has spoken within so many seconds, as waiting one that has not, or that waits within a statement now. */
  readClusterView(silenceSecondsMax: number): Promise<ClusterView>;
  /** Ends a session of another unless it has spoken since; answers whether it did. */
  endUnresponsive(session: WaitingSession): Promise<boolean>;
}

/** What one rebalance changed. */
export interface Rebalanced {
  readonly taken: readonly number[];
  readonly givenUp: readonly number[];
  /** Unresponsive sessions of others that were ended, as they held something. */
  readonly ended: readonly WaitingSession[];
}

/** How an applier comes by its buckets and gives them up. */
export interface Rebalancer {
  /** There is something to do before the next rebalance is due. */
  readonly isDue?: boolean;
  /** What was read of these buckets: all that is next of them, or what comes first of that. */
  saw?(buckets: readonly number[], parts: readonly LogPart[]): void;
  /** To be called between transactions, when it is due and about once a second; `isOffered`: another has given up buckets for this one. */
  rebalance(now: number, isOffered: boolean): Promise<Rebalanced>;
}

/**
 * Shares the buckets among the appliers of all nodes without a leader: each reads its cluster view about
 * once a second, ends unresponsive sessions, gives up its surplus and takes free buckets.
 */
export class FairShare implements Rebalancer {
  readonly #session: ClusterSession;
  readonly #leases: Leases;
  readonly #me: string;
  readonly #delays: EventLoopDelays;
  readonly #unresponsive = new UnresponsiveSessions();
  #freeSince = new Map<number, { readonly epoch: string; readonly since: number }>();
  #keepsSurplusUntil = 0;
  /** When something was last read of a bucket, in turns. */
  readonly #readIn = new Map<number, number>();
  #turn = 0;

  /** `me` is the id by which this session is present, `delays` are those of this thread. */
  constructor(session: ClusterSession, leases: Leases, me: string, delays: EventLoopDelays) {
    this.#session = session;
    this.#leases = leases;
    this.#me = me;
    this.#delays = delays;
  }

  saw(_: readonly number[], parts: readonly LogPart[]): void {
    this.#turn += 1;
    for (const { bucket } of parts) this.#readIn.set(bucket, this.#turn);
  }

  async rebalance(now: number, isOffered: boolean): Promise<Rebalanced> {
    let view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
    const patienceMs = this.#delays.patienceMs(SILENCE_SECONDS_MAX * 1_000, now);
    const ended: WaitingSession[] = [];
    for (const session of this.#unresponsive.among(view.waiting, patienceMs, now))
      if (await this.#session.endUnresponsive(session)) ended.push(session);
    if (ended.length > 0) view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
    const { free, appliers, buckets } = view;
    this.#leases.keep(view.held);
    const overdue = this.#overdueOf(free, now);
    const share = fairShare(buckets, appliers, this.#me);
    const held = this.#leases.buckets;
    if (held.length > share && now >= this.#keepsSurplusUntil) {
      // Those with least to do: with the others a sibling could not keep up.
      const readIn = (bucket: number) => this.#readIn.get(bucket) ?? 0;
      const givenUp = held.toSorted((left, right) => readIn(right) - readIn(left)).slice(share);
      await this.#leases.giveUp(givenUp);
      return { taken: [], givenUp, ended };
    }
    const lacking = Math.max(0, share - held.length);
    const wanted = isOffered ? free.length : lacking;
    // Each begins at another place, so that they seldom reach for the same.
    const first = Math.floor((free.length * Math.max(0, appliers.indexOf(this.#me))) / appliers.length);
    const chosen = new Set([...free.slice(first), ...free.slice(0, first)].slice(0, wanted));
    for (const bucket of overdue) chosen.add(bucket);
    if (chosen.size > lacking) this.#keepsSurplusUntil = now + SURPLUS_KEPT_MS;
    return { taken: await this.#leases.take([...chosen]), givenUp: [], ended };
  }

  #overdueOf(free: readonly Lease[], now: number): Lease[] {
    const before = this.#freeSince;
    this.#freeSince = new Map();
    return free.filter(({ bucket, epoch }) => {
      const known = before.get(bucket);
      const since = known?.epoch === epoch ? known.since : now;
      this.#freeSince.set(bucket, { epoch, since });
      return now - since >= OVERDUE_MS;
    });
  }
}

const TICK_MS = 500;
const REMEMBERED_MS = 60_000;
/** What is shorter is usual everywhere, and leads to no longer patience. */
const DELAY_MS_MIN = 500;
const DELAYS_MAX = 128;
/** Fewer in a minute may be this node's own trouble (it was stopped for a while); so many are the machine's. */
const DELAYS_OF_A_SLOW_MACHINE = 5;
/** Beyond this no machine is taken for slow any more. */
const PATIENCE_MS_MAX = 30_000;

/**
 * How late this thread's timers were in the last minute. On a machine where all are late, a silent session
 * is as alive as this one.
 */
export class EventLoopDelays {
  readonly #time: Time;
  readonly #delays: { readonly at: number; readonly ms: number }[] = [];

  constructor(time: Time = machineTime) {
    this.#time = time;
  }

  /** Notes by how many ms a timer was late, at `now` of a monotonic clock. */
  note(lateMs: number, now: number): void {
    if (lateMs < DELAY_MS_MIN) return;
    if (this.#delays.length === DELAYS_MAX) this.#delays.shift();
    this.#delays.push({ at: now, ms: lateMs });
  }

  /** How long a session may be silent before it counts as unresponsive: `least`, or twice this thread's usual delay. */
  patienceMs(least: number, now: number): number {
    const recent = this.#delays.filter(({ at }) => now - at < REMEMBERED_MS).map(({ ms }) => ms);
    const usual = recent.toSorted((left, right) => right - left)[DELAYS_OF_A_SLOW_MACHINE - 1] ?? 0;
    return Math.min(Math.max(least, 2 * usual), PATIENCE_MS_MAX);
  }

  /** Notes the delays of the calling thread from now on. */
  watch(): { stop(): void } {
    const time = this.#time;
    let callOff = () => {};
    const tick = (dueAt: number) => {
      callOff = time.after(dueAt - time.now(), () => {
        const now = time.now();
        this.note(now - dueAt, now);
        tick(now + TICK_MS);
      });
    };
    tick(time.now() + TICK_MS);
    return { stop: () => callOff() };
  }
}

/** A session that holds what others need and waits for its client, as one cluster view shows it. */
export interface WaitingSession {
  readonly pid: number;
  /** When it last began or ended a statement, as the database writes that time. */
  readonly spoke: string;
  /** Of the holder, for people. */
  readonly owner: string | null;
  /** Between two statements; else in the middle of one, for which it waits for its client to send or to take something. */
  readonly idle: boolean;
  readonly silent_seconds: number;
}

const FOUND_SHARE = 2 / 3;

/**
 * Finds the sessions of clients that hang. Between statements one view is enough; within one the server may
 * have been slow, so views for two thirds of the patience must agree.
 */
export class UnresponsiveSessions {
  /** By session and statement: when it was first found waiting. */
  #waitingSince = new Map<string, number>();

  /** Those silent for `silenceMsMax`; `now` in ms of any monotonic clock, the same each time. */
  among(waiting: readonly WaitingSession[], silenceMsMax: number, now: number): readonly WaitingSession[] {
    const before = this.#waitingSince;
    this.#waitingSince = new Map();
    return waiting.filter(({ pid, spoke, idle, silent_seconds }) => {
      const key = `${pid} ${spoke}`;
      const since = before.get(key) ?? now;
      this.#waitingSince.set(key, since);
      const isLong = silent_seconds * 1_000 >= silenceMsMax;
      return isLong && (idle || now - since >= silenceMsMax * FOUND_SHARE);
    });
  }
}
