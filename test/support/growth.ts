import assert from "node:assert/strict";

const RUNS = 5;
/** A busy machine or a garbage collection may spoil some; quadratic work fails each. */
const ATTEMPTS = 5;
/** Linear work takes 10 times as long, quadratic work 100 times; caches and another way for large inputs account for the rest. */
const RATIO_MAX = 40;
/** Work that is shorter at ten times the size is not compared: the processor's clock and the compiler weigh more. */
const SHORT_MS = 50;

/** Processor time of this thread, which other processes do not lengthen. */
function shortest(run: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const before = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

/**
 * Fails if `run` on an input of ten times the size takes much more than ten times as long: by the shortest of several runs, and in each of
 * several attempts.
 */
export function assertLinear<Input>(
  what: string,
  inputOf: (size: number) => Input,
  size: number,
  run: (input: Input) => unknown,
): void {
  const [small, large] = [inputOf(size), inputOf(size * 10)];
  let message = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const [smallMs, largeMs] = [shortest(() => run(small)), shortest(() => run(large))];
    if (largeMs < Math.max(RATIO_MAX * smallMs, SHORT_MS)) return;
    message = `${what}: ${size} take ${smallMs.toFixed(2)} ms, ten times as many ${largeMs.toFixed(1)} ms`;
  }
  assert.fail(message);
}

/** Fails if `run` takes more than `ratioMax` times as long on the worst input as on a usual one: by shortest runs, in each of several attempts. */
export function assertComparable<Input>(
  what: string,
  { usual, worst, ratioMax }: { readonly usual: Input; readonly worst: Input; readonly ratioMax: number },
  run: (input: Input) => unknown,
): void {
  let message = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const [usualMs, worstMs] = [shortest(() => run(usual)), shortest(() => run(worst))];
    if (worstMs < ratioMax * usualMs) return;
    message = `${what}: the usual takes ${usualMs.toFixed(1)} ms, the worst ${worstMs.toFixed(1)} ms`;
  }
  assert.fail(message);
}
