import { machineTime, type Time } from "../memory/time.ts";

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
