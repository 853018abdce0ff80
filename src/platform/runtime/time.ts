/**
 * Milliseconds of the machine's monotonic clock, the same in every thread. (`performance.now()` counts from each thread's
 * own beginning.)
 */
export function monotonicNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

/** Time as a part of the service sees it: the machine's, or that of a simulation (test/simulation). */
export interface Time {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls once, `ms` milliseconds from now at the earliest. What it answers calls that off. */
  after(ms: number, call: () => void): () => void;
  /** Calls once, in the next turn of the event loop. */
  nextTurn(call: () => void): void;
  /** From 0 to less than 1, to spread out in time what many do. */
  chance(): number;
}

/** The time of this machine. */
export const machineTime: Time = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  nextTurn(call) {
    setImmediate(call);
  },
  chance: Math.random,
};
