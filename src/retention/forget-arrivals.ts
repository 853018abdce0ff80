import type pg from "pg";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import { lowestIdAt } from "../accept/request-id.ts";
import { readStatement } from "../db/statement.ts";

const forgetSome = readStatement(new URL("./sql/forget-arrivals.sql", import.meta.url));

/** Feed health looks back 28 days at most (src/insight/feed-pulse.ts); a week more than that, so that nobody has to be exact. */
const KEPT_MS = 35 * 86_400_000;
/** Notes of one feed that a statement takes out: an hour of a busy one, so one statement a bucket is nearly always enough. */
const NOTES_AT_ONCE = 500;

/** Forgets when feeds arrived longer ago than anything asks for. The newest note of each stays; answers how many went. */
export async function forgetArrivals(client: pg.ClientBase, nowMs: number): Promise<number> {
  const before = lowestIdAt(Math.floor(nowMs) - KEPT_MS);
  let forgotten = 0;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
    let some: number;
    do {
      const { rowCount } = await client.query({ ...forgetSome, values: [bucket, before, NOTES_AT_ONCE] });
      some = rowCount ?? 0;
      forgotten += some;
    } while (some > 0);
  }
  return forgotten;
}
