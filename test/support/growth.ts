import assert from "node:assert/strict";

const RUNS = 5;
/** Linear work takes 10 times as long, quadratic work 100 times; caches and a busy machine account for the rest. */
const RATIO_MAX = 35;
/** Below this, the clock and the compiler weigh more than the work. */
const SHORT_MS = 2;

function shortest(run: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return Math.min(...times);
}

/** Fails if `run` on an input of ten times the size takes much more than ten times as long; each time is the shortest of several runs. */
export function assertLinear<Input>(
  what: string,
  inputOf: (size: number) => Input,
  size: number,
  run: (input: Input) => unknown,
): void {
  const [small, large] = [inputOf(size), inputOf(size * 10)];
  const [smallMs, largeMs] = [shortest(() => run(small)), shortest(() => run(large))];
  assert.ok(
    largeMs < RATIO_MAX * Math.max(smallMs, SHORT_MS / RATIO_MAX),
    `${what}: ${size} take ${smallMs.toFixed(2)} ms, ten times as many ${largeMs.toFixed(1)} ms`,
  );
}
