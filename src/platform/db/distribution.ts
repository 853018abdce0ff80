import { apartFromReader } from "./connection.ts";
import type { Queryable } from "./transaction.ts";

const known = new WeakMap<object, Promise<boolean>>();

/**
 * Whether the tables of this database are distributed by bucket (`bellhop citus distribute`). Asked once of each connection
 * or pool and then remembered: distributing is refused while anybody is connected.
 */
export function isDistributed(on: Queryable): Promise<boolean> {
  let answer = known.get(on);
  if (answer === undefined) {
    answer = apartFromReader(() => askWhetherDistributed(on));
    known.set(on, answer);
    answer.catch(() => known.delete(on));
  }
  return answer;
}

/** Marks a connection that names shards, so that it is treated as plain PostgreSQL. */
export function namesShards(on: Queryable): void {
  known.set(on, Promise.resolve(false));
}

async function askWhetherDistributed(on: Queryable): Promise<boolean> {
  const extension = await on.query("select 1 from pg_extension where extname = 'citus'");
  if (extension.rowCount === 0) return false;
  const log = await on.query(
    "select 1 from pg_dist_partition where logicalrelid = to_regclass('bellhop.accept_log') and partmethod = 'h'",
  );
  return log.rowCount === 1;
}

/** An item of a bucket. */
export type Placed = { readonly bucket: number } | { readonly of: { readonly bucket: number } };

const bucketOf = (placed: Placed): number => ("of" in placed ? placed.of.bucket : placed.bucket);

/** The bucket of all items. Throws if there are several: on Citus a transaction has one. */
export function oneBucketOf(all: readonly Placed[]): number {
  if (all[0] === undefined) throw new Error("A statement of one bucket names none.");
  const bucket = bucketOf(all[0]);
  for (const placed of all) {
    const other = bucketOf(placed);
    if (other !== bucket) throw new Error(`Buckets ${bucket} and ${other} in one statement.`);
  }
  return bucket;
}
