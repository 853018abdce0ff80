import { readStatement } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

const readLeases = readStatement(new URL("./sql/read-leasing-sessions.sql", import.meta.url));
const countUnowned = readStatement(new URL("./sql/count-unowned-buckets.sql", import.meta.url));

/**
 * How many buckets nobody applies. Leases are read by themselves, and first: on Citus they lie on the workers, and who asks for
 * them and for the sessions in one statement may be told those of a worker. Who takes one in between is there by then.
 */
export async function countUnownedBuckets(on: Queryable): Promise<number> {
  const { rows: leases } = await on.query(readLeases);
  const { rows } = await on.query<{ unowned: number }>({ ...countUnowned, values: [JSON.stringify(leases)] });
  return rows[0]?.unowned ?? 0;
}
