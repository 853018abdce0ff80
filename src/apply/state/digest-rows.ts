/** Sums two independent 64-bit hashes of each row: order does not matter, a changed or missing row does. */
export const ROW_SUM = (row: string) =>
  `count(*)::float8 as count, concat(
    coalesce(sum(hashtextextended(${row}, 1)), 0), '/', coalesce(sum(hashtextextended(${row}, 2)), 0)) as hash`;

/** What ROW_SUM answers. */
export interface RowSum {
  readonly count: number;
  readonly hash: string;
}
