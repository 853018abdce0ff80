/**
 * Milliseconds of the machine's monotonic clock, the same in every thread. (`performance.now()` counts from each thread's
 * own beginning.)
 */
export function monotonicNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
