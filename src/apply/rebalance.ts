import { BUCKET_COUNT } from "../ingest/log/bucket.ts";
import { SILENCE_SECONDS_MAX } from "../platform/db/presence.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Leases } from "./leases.ts";
import { type EventLoopDelays, UnresponsiveSessions, type WaitingSession } from "./unresponsive-sessions.ts";

/**
 * How many buckets an applier is to hold: all of them shared out evenly among those present, one more to each of the
 * first where that does not come out even. An applier that is not among those present counts as the last of them.
 */
export function fairShare(present: readonly string[], me: string): number {
  const appliers = present.includes(me) ? present : [...present, me];
  const least = Math.floor(BUCKET_COUNT / appliers.length);
  return least + (appliers.indexOf(me) < BUCKET_COUNT % appliers.length ? 1 : 0);
}

/**
 * A bucket that has been free for so long may be taken by any applier: the one that lacks it by its share has something long to
 * do. Two cluster views lie at most 1.2 s apart, so that the one that is to take it has had one in between.
 */
const OVERDUE_MS = 1_500;
/** So long a bucket beyond the share is kept, or it would be given up and taken again until the other applier is back. */
const SURPLUS_KEPT_MS = 10_000;

/** What an applier sees of the others. */
export interface ClusterView {
  /** Ids of the appliers present, in the order in which they came. */
  readonly appliers: readonly string[];
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
  readonly isDue: boolean;
  /** What was read of these buckets: all that is next of them, or what comes first of that. */
  saw(buckets: readonly number[], parts: readonly LogPart[]): void;
  /** To be called between transactions, when it is due and about once a second. */
  rebalance(now: number): Promise<Rebalanced>;
}

/**
 * How one applier shares the buckets with the others, of this node and of all. Nobody leads and nobody writes to say that
 * it lives: each reads its cluster view about once a second, ends the sessions of those that hang, gives up what it holds beyond
 * its share, and takes of what is free. Times are ms of any monotonic clock.
 */
export class FairShare implements Rebalancer {
  readonly #session: ClusterSession;
  readonly #leases: Leases;
  readonly #me: string;
  readonly #delays: EventLoopDelays;
  readonly #unresponsive = new UnresponsiveSessions();
  #freeSince = new Map<number, { readonly epoch: string; readonly since: number }>();
  #keepsSurplusUntil = 0;

  /** `me` is the id by which this session is present, `delays` are those of this thread. */
  constructor(session: ClusterSession, leases: Leases, me: string, delays: EventLoopDelays) {
    this.#session = session;
    this.#leases = leases;
    this.#me = me;
    this.#delays = delays;
  }

  readonly isDue = false;

  saw(): void {
    // The share does not depend on what is next in a bucket.
  }

  async rebalance(now: number): Promise<Rebalanced> {
    let view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
    const patienceMs = this.#delays.patienceMs(SILENCE_SECONDS_MAX * 1_000, now);
    const ended: WaitingSession[] = [];
    for (const session of this.#unresponsive.among(view.waiting, patienceMs, now))
      if (await this.#session.endUnresponsive(session)) ended.push(session);
    if (ended.length > 0) view = await this.#session.readClusterView(SILENCE_SECONDS_MAX);
    const { free, appliers } = view;
    this.#leases.keep(view.held);
    const overdue = this.#overdueOf(free, now);
    const share = fairShare(appliers, this.#me);
    const held = this.#leases.buckets;
    if (held.length > share && now >= this.#keepsSurplusUntil) {
      const givenUp = held.slice(share);
      await this.#leases.giveUp(givenUp);
      return { taken: [], givenUp, ended };
    }
    const wanted = Math.max(0, share - held.length);
    // Each begins at another place, so that they seldom reach for the same.
    const first = Math.floor((free.length * Math.max(0, appliers.indexOf(this.#me))) / appliers.length);
    const chosen = new Set([...free.slice(first), ...free.slice(0, first)].slice(0, wanted));
    for (const bucket of overdue) chosen.add(bucket);
    if (chosen.size > wanted) this.#keepsSurplusUntil = now + SURPLUS_KEPT_MS;
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
