const ascendingOf = (values: readonly number[]) => values.toSorted((left, right) => left - right);

/** The value at a share (0 to 1) of values in order; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const ascending = ascendingOf(values);
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}

/** The middle of values in order; NaN of none. */
export function median(values: readonly number[]): number {
  const ascending = ascendingOf(values);
  const middle = Math.floor(ascending.length / 2);
  const upper = ascending[middle] ?? Number.NaN;
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Of a normal distribution, how many standard deviations to each side hold 95 %. */
const DEVIATIONS_OF_95 = 1.96;

/**
 * Between which of some values the median of what they are drawn from lies, at 95 %, however they are distributed: by
 * the binomial distribution of how many lie below it. The extremes, of few.
 */
export function medianInterval(values: readonly number[]): { readonly from: number; readonly to: number } {
  const ascending = ascendingOf(values);
  const count = ascending.length;
  const outside = Math.max(0, Math.floor((count - DEVIATIONS_OF_95 * Math.sqrt(count)) / 2) - 1);
  return { from: ascending[outside] ?? Number.NaN, to: ascending[count - 1 - outside] ?? Number.NaN };
}

/** The middle value and the extremes of the rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: percentile(values, 0), max: percentile(values, 1) };
}
