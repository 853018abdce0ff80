import assert from "node:assert/strict";

/** Garbage collection or the compiler may lengthen a turn; undivided work is as long in each attempt. */
const ATTEMPTS = 3;
/** Relative to the whole, so that the speed of the machine does not matter. */
const SHARE_MAX = 0.1;
/** Shorter turns are never compared with the whole. */
const SHORT_MS = 60;

interface Turns {
  /** Processor time of this thread, in milliseconds. */
  readonly totalMs: number;
  /** The most processor time without a turn of the event loop. */
  readonly longestMs: number;
}

async function measureTurns(work: () => Promise<unknown>): Promise<Turns> {
  let [totalMs, longestMs] = [0, 0];
  let before = process.threadCpuUsage();
  let isDone = false;
  const look = () => {
    const { user, system } = process.threadCpuUsage(before);
    const turnMs = (user + system) / 1_000;
    totalMs += turnMs;
    longestMs = Math.max(longestMs, turnMs);
    before = process.threadCpuUsage();
    if (!isDone) setImmediate(look);
  };
  look();
  try {
    await work();
  } finally {
    isDone = true;
  }
  look();
  return { totalMs, longestMs };
}

/** Fails if `work`, which can be repeated, takes more than a tenth of its processor time without a turn of the event loop, in each of several attempts. */
export async function assertTurns(work: () => Promise<unknown>): Promise<void> {
  let message = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { totalMs, longestMs } = await measureTurns(work);
    if (longestMs < Math.max(SHORT_MS, SHARE_MAX * totalMs)) return;
    message = `the longest turn takes ${longestMs.toFixed(0)} ms of ${totalMs.toFixed(0)} ms`;
  }
  assert.fail(message);
}
