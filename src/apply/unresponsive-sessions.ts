import { machineTime, type Time } from "../platform/runtime/time.ts";

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
 * How late this thread's own timers were in the last minute. On a machine so busy that all timers are late, a session that is
 * silent for some seconds is as alive as this one, and to take over from it would only make more work.
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
 * Which of the waiting sessions are those of a client that hangs. Between statements it is the client's turn all the
 * time, so that one cluster view is enough. In the middle of one it may be the server that took long and waits at this moment
 * only: such a session must be found so in every view for two thirds of that time. (For all of it, a view a second could
 * notice it only two seconds later.)
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
