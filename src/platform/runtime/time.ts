/** The clock and timers of the machine, or of a simulation (test/simulation). */
export interface Time {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls once, after at least `ms` milliseconds. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
  /** Calls once, in the next turn of the event loop. */
  nextTurn(call: () => void): void;
  /** A random number in [0, 1), for jitter. */
  chance(): number;
}

export const machineTime: Time = {
  now: performance.now.bind(performance),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  nextTurn: setImmediate,
  chance: Math.random,
};
