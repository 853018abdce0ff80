import type { Row } from "./shared-table.ts";

/** How many may come within how many milliseconds. */
export interface SlidingWindow {
  readonly most: number;
  readonly windowMs: number;
}

/**
 * Notes one more in a row whose first `most` numbers are the times of the last ones, milliseconds of any steady clock. Answers 0, or
 * the whole seconds until another may come; then it is not noted.
 */
export function noteInWindow(times: Row, now: number, { most, windowMs }: SlidingWindow): number {
  let oldest = 0;
  for (let at = 0; at < most; at += 1) {
    if (times.isNew) times.set(at, Number.NEGATIVE_INFINITY);
    if (times.get(at) < times.get(oldest)) oldest = at;
  }
  const leavesAt = times.get(oldest) + windowMs;
  if (leavesAt > now) return Math.max(1, Math.ceil((leavesAt - now) / 1_000));
  times.set(oldest, now);
  return 0;
}
