import type pg from "pg";
import { LeaseStatements } from "../apply/lease-statements.ts";
import { readStatement } from "../db/statement.ts";

const endLease = readStatement(new URL("./sql/end-lease.sql", import.meta.url));

/**
 * Holds buckets until the caller's transaction ends, and ends their leases with it: whoever applied them reads anew what it has
 * read, and what is stripped. Nothing is applied of them meanwhile.
 */
export async function endLeases(client: pg.ClientBase, buckets: readonly number[]): Promise<void> {
  await new LeaseStatements(client).lockBuckets(buckets);
  for (const bucket of buckets) await client.query({ ...endLease, values: [bucket] });
}
