import { query } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import type { Positions } from "./positions.ts";

/**
 * The number of the last change of each of the buckets $1. A bucket's counter only grows, and the entry that counts is the
 * last of the index (migration 0011): one look each, however many dead ones lie below it.
 */
const readEnds = namedStatement(
  "read-change-ends",
  `select counter.bucket, (counter.next_change - 1)::float8 as last_change
  from unnest($1::smallint[]) as asked (bucket)
  cross join lateral (
    select * from bellhop.change_counter as any_version
    where any_version.bucket = asked.bucket
    order by any_version.next_change desc limit 1
  ) as counter`,
);
/** The number of the last change of each of these buckets: 0 where there was none. All up to it can be read from now on. */
export async function readChangeEnds(on: Queryable, buckets: readonly number[]): Promise<Positions> {
  const { rows } = await query<{ bucket: number; last_change: number }>(on, readEnds, [buckets]);
  return new Map(rows.map(({ bucket, last_change }) => [bucket, last_change]));
}
