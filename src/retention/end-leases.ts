import type pg from "pg";
import { LeaseStatements } from "../apply/lease-statements.ts";
import { namedStatement } from "../platform/db/statement.ts";

const endLease = namedStatement(
  "end-lease",
  `update bellhop.bucket_lease set epoch = epoch + 1, owner = null, backend_pid = null, backend_start = null
  where bucket = $1`,
);

/**
 * Holds buckets until the caller's transaction ends, and ends their leases with it: whoever applied them reads anew what it has
 * read, and what is redacted. Nothing is applied of them meanwhile.
 */
export async function endLeases(client: pg.ClientBase, buckets: readonly number[]): Promise<void> {
  await new LeaseStatements(client).lockBuckets(buckets);
  for (const bucket of buckets) await client.query({ ...endLease, values: [bucket] });
}
