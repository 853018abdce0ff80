import { SILENCE_SECONDS_MAX } from "../db/presence.ts";
import type { LogPart } from "./backlog.ts";
import { fairShare } from "./fair-share.ts";
import type { Lease, Ownership } from "./ownership.ts";
import { SilentSessions, type WaitingSession } from "./silent-sessions.ts";
import type { Stalls } from "./stalls.ts";

/**
 * A bucket that has been free for so long is anybody's: whoever lacks it by its share has something long to do. Two looks
 * lie at most 1.2 s apart, so that whoever is to take it has had one in between.
 */
const OVERDUE_MS = 1_500;
/** So long is kept what was taken beyond the share, or it would be given up and taken again until that other is back. */
const SURPLUS_KEPT_MS = 10_000;

/** What an applier sees of the others. */
export interface Around {
  /** Ids of the appliers present, in the order in which they came. */
  readonly appliers: readonly string[];
  readonly free: readonly Lease[];
  /** What this session holds. */
  readonly held: readonly Lease[];
  readonly waiting: readonly WaitingSession[];
}

/** What sharing asks of the database. */
export interface SharingSession {
  /** Counts as present who has spoken within so many seconds; waiting is who has not, or waits within a statement now. */
  lookAround(silenceSecondsMax: number): Promise<Around>;
  /** Ends a session of another unless it has spoken since; answers whether it did. */
  endSilent(session: WaitingSession): Promise<boolean>;
}

/** What came of one look around. */
export interface Shift {
  readonly taken: readonly number[];
  readonly givenUp: readonly number[];
  /** Sessions of others that were ended, as they held something and were silent. */
  readonly ended: readonly WaitingSession[];
}

/** How an applier comes by its buckets and gives them up. */
export interface Shifts {
  /** There is something to do before the next look around is due. */
  readonly isDue: boolean;
  /** What was read of these buckets: all that is next of them, or what comes first of that. */
  saw(buckets: readonly number[], parts: readonly LogPart[]): void;
  /** To be called between transactions, when it is due and about once a second. */
  shift(now: number): Promise<Shift>;
}

/**
 * How one applier shares the buckets with the others, of this node and of all. Nobody leads and nobody writes to say that
 * it lives: each looks around about once a second, ends the sessions of those who hang, gives up what it holds beyond its
 * share, and takes of what is free. Times are ms of any monotonic clock.
 */
export class Sharing implements Shifts {
  readonly #session: SharingSession;
  readonly #ownership: Ownership;
  readonly #me: string;
  readonly #stalls: Stalls;
  readonly #silent = new SilentSessions();
  #freeSince = new Map<number, { readonly epoch: string; readonly since: number }>();
  #keepsSurplusUntil = 0;

  /** `me` is the id by which this session is present, `stalls` are those of this thread. */
  constructor(session: SharingSession, ownership: Ownership, me: string, stalls: Stalls) {
    this.#session = session;
    this.#ownership = ownership;
    this.#me = me;
    this.#stalls = stalls;
  }

  readonly isDue = false;

  saw(): void {
    // What is next in a bucket is no matter of whose it is.
  }

  async shift(now: number): Promise<Shift> {
    let around = await this.#look();
    const patienceMs = this.#stalls.patienceMs(SILENCE_SECONDS_MAX * 1_000, now);
    const ended = await this.#endSilent(this.#silent.look(around.waiting, patienceMs, now));
    if (ended.length > 0) around = await this.#look();
    const { free, appliers } = around;
    this.#ownership.keep(around.held);
    const overdue = this.#overdueOf(free, now);
    const share = fairShare(appliers, this.#me);
    const held = this.#ownership.buckets;
    if (held.length > share && now >= this.#keepsSurplusUntil) {
      const givenUp = held.slice(share);
      await this.#ownership.giveUp(givenUp);
      return { taken: [], givenUp, ended };
    }
    const wanted = Math.max(0, share - held.length);
    // Each begins at another place, so that they seldom reach for the same.
    const first = Math.floor((free.length * Math.max(0, appliers.indexOf(this.#me))) / appliers.length);
    const chosen = new Set([...free.slice(first), ...free.slice(0, first)].slice(0, wanted));
    for (const bucket of overdue) chosen.add(bucket);
    if (chosen.size > wanted) this.#keepsSurplusUntil = now + SURPLUS_KEPT_MS;
    return { taken: await this.#ownership.take([...chosen]), givenUp: [], ended };
  }

  #look(): Promise<Around> {
    return this.#session.lookAround(SILENCE_SECONDS_MAX);
  }

  async #endSilent(silent: readonly WaitingSession[]): Promise<WaitingSession[]> {
    const ended: WaitingSession[] = [];
    for (const session of silent) if (await this.#session.endSilent(session)) ended.push(session);
    return ended;
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
