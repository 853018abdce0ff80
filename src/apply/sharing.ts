import { BUCKET_COUNT } from "../ingest/log/bucket.ts";
import { SILENCE_SECONDS_MAX } from "../platform/db/presence.ts";
import { machineTime, type Time } from "../platform/runtime/time.ts";
import type { LogPart } from "./backlog.ts";
import type { Lease, Ownership } from "./ownership.ts";

const TICK_MS = 500;
const REMEMBERED_MS = 60_000;
/** What is shorter is usual everywhere, and leads to no longer patience. */
const STALL_MS_MIN = 500;
const STALLS_MAX = 128;
/** Fewer in a minute may be this node's own trouble (it was stopped for a while); so many are the machine's. */
const STALLS_OF_A_SLOW_MACHINE = 5;
/** Beyond this no machine is taken for slow any more. */
const PATIENCE_MS_MAX = 30_000;

/**
 * How late this thread's own timers were in the last minute. On a machine so busy that everybody's are late, who says
 * nothing for some seconds is as alive as this one, and to take over from it would only make more work.
 */
export class Stalls {
  readonly #time: Time;
  readonly #stalls: { readonly at: number; readonly ms: number }[] = [];

  constructor(time: Time = machineTime) {
    this.#time = time;
  }

  /** Notes by how many ms a timer was late, at `now` of a monotonic clock. */
  note(lateMs: number, now: number): void {
    if (lateMs < STALL_MS_MIN) return;
    if (this.#stalls.length === STALLS_MAX) this.#stalls.shift();
    this.#stalls.push({ at: now, ms: lateMs });
  }

  /** How long another may be silent before it is taken for hung: `least`, or twice what this one's own stalls usually are. */
  patienceMs(least: number, now: number): number {
    const recent = this.#stalls.filter(({ at }) => now - at < REMEMBERED_MS).map(({ ms }) => ms);
    const usual = recent.toSorted((left, right) => right - left)[STALLS_OF_A_SLOW_MACHINE - 1] ?? 0;
    return Math.min(Math.max(least, 2 * usual), PATIENCE_MS_MAX);
  }

  /** Notes the stalls of the calling thread from now on. */
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

/** A session that holds what others need and waits for its client, as one look found it. */
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
 * Which of the waiting sessions are those of a client that hangs. Between statements it is the client's turn all the
 * time, so that one look is enough. In the middle of one it may be the server that took long and waits at this moment
 * only: such a session must be found so at every look for two thirds of that time. (For all of it, a look a second could
 * notice it only two seconds later.)
 */
export class SilentSessions {
  /** By session and statement: when it was first found waiting. */
  #waitingSince = new Map<string, number>();

  /** Those silent for `silenceMsMax`; `now` in ms of any monotonic clock, the same at each look. */
  look(waiting: readonly WaitingSession[], silenceMsMax: number, now: number): readonly WaitingSession[] {
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

/**
 * How many buckets an applier is to hold: all of them shared out evenly among those present, one more to each of the
 * first where that does not come out even. Who is not among those present counts as the last of them.
 */
export function fairShare(present: readonly string[], me: string): number {
  const appliers = present.includes(me) ? present : [...present, me];
  const least = Math.floor(BUCKET_COUNT / appliers.length);
  return least + (appliers.indexOf(me) < BUCKET_COUNT % appliers.length ? 1 : 0);
}

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
