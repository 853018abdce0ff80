import { namedStatement } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

/** The sessions that the buckets were leased by. */
const readLeases = namedStatement(
  "read-leasing-sessions",
  `select backend_pid, backend_start::text as backend_start from bellhop.bucket_lease`,
);
/**
 * Of the leases $1 how many nobody holds: never held, given up, or held by a backend that is gone. One whose start is hidden
 * (another role's) counts as the holder, as in src/apply/sql/read-cluster-view.sql.
 */
const countUnowned = namedStatement(
  "count-unowned-buckets",
  `select count(*)::integer as unowned
  from json_to_recordset($1::json) as lease (backend_pid integer, backend_start timestamptz)
  where not exists (
    select from pg_stat_activity as backend
    where backend.pid = lease.backend_pid and coalesce(backend.backend_start, lease.backend_start) = lease.backend_start
  )`,
);

/**
 * How many buckets nobody applies. Leases are read by themselves, and first: on Citus they lie on the workers, and who asks for
 * them and for the sessions in one statement may be told those of a worker. Who takes one in between is there by then.
 */
export async function countUnownedBuckets(on: Queryable): Promise<number> {
  const { rows: leases } = await on.query(readLeases);
  const { rows } = await on.query<{ unowned: number }>({ ...countUnowned, values: [JSON.stringify(leases)] });
  return rows[0]?.unowned ?? 0;
}
