/** The value at a share (0 to 1) of ascending values; NaN of none. */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}

/** The middle of ascending values; NaN of none. */
export function median(ascending: readonly number[]): number {
  const middle = Math.floor(ascending.length / 2);
  const upper = ascending[middle] ?? Number.NaN;
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The middle value and the extremes of the rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const ascending = values.toSorted((left, right) => left - right);
  return {
    median: median(ascending),
    min: ascending[0] ?? Number.NaN,
    max: ascending.at(-1) ?? Number.NaN,
  };
}
