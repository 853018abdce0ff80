import { SILENCE_SECONDS_MAX } from "../platform/db/coordination.ts";
import { machineTime, type Time } from "../platform/runtime/time.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Leases } from "./leases.ts";

/** The number of buckets for applier `me`. The remainder goes to the first appliers present, one bucket each. */
export function fairShare(buckets: number, present: readonly string[], me: string): number {
  const appliers = present.includes(me) ? present : [...present, me];
  const least = Math.floor(buckets / appliers.length);
  return least + (appliers.indexOf(me) < buckets % appliers.length ? 1 : 0);
}

/** Any applier may take a bucket free for this long. Views are at most 1.2 s apart, so every applier below its share has had one. */
const OVERDUE_MS = 1_500;
/** How long buckets beyond the share are kept, to avoid giving up and retaking them until the missing applier is back. */
const SURPLUS_KEPT_MS = 10_000;

/** One row of `sql/read-cluster-view.sql`. */
export interface ClusterView {
  /** Presence ids in order of arrival. */
  readonly appliers: readonly string[];
  /** The number of buckets of the server, which the appliers share. */
  readonly buckets: number;
  readonly free: readonly Lease[];
  /** The leases of this session. */
  readonly held: readonly Lease[];
  readonly waiting: readonly WaitingSession[];
}

/** The statements of a rebalance. */
export interface ClusterSession {
  /** Sessions active within `silenceSecondsMax` are present; others, and those waiting within a statement now, are listed as waiting. */
  readClusterView(silenceSecondsMax: number): Promise<ClusterView>;
  /** Terminates a session unless it was active after the view; returns whether it did. */
  endUnresponsive(session: WaitingSession): Promise<boolean>;
}

/** The result of one rebalance. */
export interface Rebalanced {
  readonly taken: readonly number[];
  readonly givenUp: readonly number[];
  /** Unresponsive sessions that were terminated. */
  readonly ended: readonly WaitingSession[];
}

/**
 * Shares the buckets among the appliers of all nodes without a leader: each reads its cluster view about
 * once a second, ends unresponsive sessions, gives up its surplus and takes free buckets.
 */
export class FairShare {
  readonly #session: ClusterSession;
  readonly #leases: Leases;
  readonly #me: string;
  readonly #delays: EventLoopDelays;
  readonly #unresponsive = new UnresponsiveSessions();
  #freeSince = new Map<number, { readonly epoch: string; readonly since: number }>();
  #keepsSurplusUntil = 0;
  /** The last read that returned parts of a bucket, as a sequence number. */
  readonly #readIn = new Map<number, number>();
  #reads = 0;

  /** `me` is the presence id of this session, `delays` are those of this thread. */
  constructor(session: ClusterSession, leases: Leases, me: string, delays: EventLoopDelays) {
    this.#session = session;
    this.#leases = leases;
    this.#me = me;
    this.#delays = delays;
  }

  onBacklogRead(parts: readonly LogPart[]): void {
    this.#reads += 1;
    for (const { bucket } of parts) this.#readIn.set(bucket, this.#reads);
  }

  /** Called between transactions, about once a second and when due. `isOffered`: a sibling has given up buckets for this applier. */
  async rebalance(now: number, isOffered: boolean): Promise<Rebalanced> {
    let view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
    const patienceMs = this.#delays.patienceMs(SILENCE_SECONDS_MAX * 1_000, now);
    const ended: WaitingSession[] = [];
    for (const session of this.#unresponsive.find(view.waiting, patienceMs, now))
      if (await this.#session.endUnresponsive(session)) ended.push(session);
    if (ended.length > 0) view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
    const { free, appliers, buckets } = view;
    this.#leases.keep(view.held);
    const overdue = this.#overdueOf(free, now);
    const share = fairShare(buckets, appliers, this.#me);
    const held = this.#leases.buckets;
    if (held.length > share && now >= this.#keepsSurplusUntil) {
      // Gives up the least recently read buckets: the busiest ones would overload the applier that takes them.
      const readIn = (bucket: number) => this.#readIn.get(bucket) ?? 0;
      const givenUp = held.toSorted((left, right) => readIn(right) - readIn(left)).slice(share);
      await this.#leases.giveUp(givenUp);
      return { taken: [], givenUp, ended };
    }
    const lacking = Math.max(0, share - held.length);
    const wanted = isOffered ? free.length : lacking;
    // Appliers start at different offsets, so that they rarely compete for the same bucket.
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
/** Shorter delays are normal and are ignored. */
const DELAY_MS_MIN = 500;
const DELAYS_MAX = 128;
/** Fewer delays in a minute may come from this process alone (it was stopped); this many show a slow machine. */
const DELAYS_OF_A_SLOW_MACHINE = 5;
/** Upper bound, however slow the machine. */
const PATIENCE_MS_MAX = 30_000;

/**
 * The timer delays of this thread in the last minute. On a machine that delays all threads, a silent session is probably alive.
 */
export class EventLoopDelays {
  readonly #time: Time;
  readonly #delays: { readonly at: number; readonly ms: number }[] = [];

  constructor(time: Time = machineTime) {
    this.#time = time;
  }

  /** Records that a timer fired `lateMs` late, at `now` of a monotonic clock. */
  note(lateMs: number, now: number): void {
    if (lateMs < DELAY_MS_MIN) return;
    if (this.#delays.length === DELAYS_MAX) this.#delays.shift();
    this.#delays.push({ at: now, ms: lateMs });
  }

  /** How long a session may be silent before it counts as unresponsive: `least`, or twice this thread's typical delay if longer. */
  patienceMs(least: number, now: number): number {
    const recent = this.#delays.filter(({ at }) => now - at < REMEMBERED_MS).map(({ ms }) => ms);
    const usual = recent.toSorted((left, right) => right - left)[DELAYS_OF_A_SLOW_MACHINE - 1] ?? 0;
    return Math.min(Math.max(least, 2 * usual), PATIENCE_MS_MAX);
  }

  /** Records the calling thread's delays until stopped. */
  watch(): { stop(): void } {
    const time = this.#time;
    let cancel = () => {};
    const tick = (dueAt: number) => {
      cancel = time.after(dueAt - time.now(), () => {
        const now = time.now();
        this.note(now - dueAt, now);
        tick(now + TICK_MS);
      });
    };
    tick(time.now() + TICK_MS);
    return { stop: () => cancel() };
  }
}

/** A session in a cluster view that holds a bucket or an open log writer and waits for its client. */
export interface WaitingSession {
  readonly pid: number;
  /** `pg_stat_activity.state_change` as text: when it last began or ended a statement. */
  readonly spoke: string;
  /** Human-readable name of the holder. */
  readonly owner: string | null;
  /** Between two statements; otherwise it waits within one for its client to send or receive data. */
  readonly idle: boolean;
  readonly silent_seconds: number;
}

const FOUND_SHARE = 2 / 3;

/**
 * Finds sessions whose client hangs. Between statements one view is enough. Within a statement the server may be the slow side,
 * so all views over two thirds of the patience must agree.
 */
export class UnresponsiveSessions {
  /** By session and statement: when it was first found waiting, in ms. */
  #waitingSince = new Map<string, number>();

  /** The sessions silent for at least `silenceMsMax`. `now`: ms of any monotonic clock, the same on each call. */
  find(waiting: readonly WaitingSession[], silenceMsMax: number, now: number): readonly WaitingSession[] {
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
