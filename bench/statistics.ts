const ascendingOf = (values: readonly number[]) => values.toSorted((left, right) => left - right);

/** The least value that at least this share of the values do not exceed (nearest rank); NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const ascending = ascendingOf(values);
  return ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? Number.NaN;
}

/** The median of sorted values; NaN without values. */
export function median(values: readonly number[]): number {
  const ascending = ascendingOf(values);
  const middle = Math.floor(ascending.length / 2);
  const upper = ascending[middle] ?? Number.NaN;
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The 95 % interval of a normal distribution, in standard deviations to each side. */
const DEVIATIONS_OF_95 = 1.96;

/** The distribution-free 95 % confidence interval of the median, by the binomial distribution of ranks. With few values, their extremes. */
export function medianInterval(values: readonly number[]): { readonly from: number; readonly to: number } {
  const ascending = ascendingOf(values);
  const count = ascending.length;
  const outside = Math.max(0, Math.floor((count - DEVIATIONS_OF_95 * Math.sqrt(count)) / 2) - 1);
  return { from: ascending[outside] ?? Number.NaN, to: ascending[count - 1 - outside] ?? Number.NaN };
}

/** The median and the extremes of the rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: percentile(values, 0), max: percentile(values, 1) };
}
