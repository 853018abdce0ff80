/** The value at a share (0 to 1) of ascending values; NaN of none. */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}

/** The middle value and the extremes of the rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const ascending = values.toSorted((left, right) => left - right);
  const middle = ascending.length / 2;
  const median =
    ascending.length % 2 === 1
      ? (ascending[Math.floor(middle)] as number)
      : ((ascending[middle - 1] ?? Number.NaN) + (ascending[middle] ?? Number.NaN)) / 2;
  return { median, min: ascending[0] ?? Number.NaN, max: ascending.at(-1) ?? Number.NaN };
}
