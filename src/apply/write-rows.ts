import type pg from "pg";
import { isDistributed, oneBucketOf } from "../platform/db/distribution.ts";
import type { Statement } from "../platform/db/statement.ts";

/** Runs a statement that writes these rows; on a database that is distributed the one for rows of one bucket. */
export async function writeRows(
  client: pg.ClientBase,
  rows: readonly { readonly bucket: number }[],
  statement: Statement,
  ofOneBucket: Statement,
): Promise<void> {
  if (await isDistributed(client))
    await client.query({ ...ofOneBucket, values: [JSON.stringify(rows), oneBucketOf(rows)] });
  else await client.query({ ...statement, values: [JSON.stringify(rows)] });
}
