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
  now: performance.now.bind(performance),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  nextTurn: setImmediate,
  chance: Math.random,
};
