import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import type { Positions } from "./positions.ts";

const readEnds = readStatement(new URL("./sql/read-change-ends.sql", import.meta.url));
const readEndsDistributed = readStatement(new URL("./sql/read-change-ends-distributed.sql", import.meta.url));

/** The number of the last change of each of these buckets: 0 where there was none. All up to it can be read from now on. */
export async function readChangeEnds(on: Queryable, buckets: readonly number[]): Promise<Positions> {
  const statement = (await isDistributed(on)) ? readEndsDistributed : readEnds;
  const { rows } = await on.query<{ bucket: number; last_change: number }>({
    ...statement,
    values: [buckets],
  });
  return new Map(rows.map(({ bucket, last_change }) => [bucket, last_change]));
}
