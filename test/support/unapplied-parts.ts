import type { TestDatabase } from "./database.ts";

/** Parts of the log of which nobody has said yet what became of them. (Counted: Citus answers no question of whether there are any.) */
export async function unappliedParts({ pool }: Pick<TestDatabase, "pool">): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from bellhop.accept_log as log
    where not exists (
      select from bellhop.request_outcome as outcome
      where outcome.bucket = log.bucket and outcome.request_id = log.request_id
    )`,
  );
  return rows[0]?.count ?? Number.NaN;
}
