import { apartFromReader } from "./readers.ts";
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

async function askWhetherDistributed(on: Queryable): Promise<boolean> {
  const extension = await on.query("select 1 from pg_extension where extname = 'citus'");
  if (extension.rowCount === 0) return false;
  const log = await on.query(
    "select 1 from pg_dist_partition where logicalrelid = to_regclass('bellhop.accept_log') and partmethod = 'h'",
  );
  return log.rowCount === 1;
}

/**
 * A statement over a table `t` for a database that is distributed: it names its one bucket as parameter `place`, so that
 * Citus sends it whole to the shard that holds the bucket, whatever it is made of. The text says where by BUCKET_TERM,
 * which a database that is not distributed reads as a comment.
 */
export function ofOneBucket(
  { name, text }: { readonly name: string; readonly text: string },
  place: number,
): { readonly name: string; readonly text: string } {
  if (!text.includes(BUCKET_TERM))
    throw new Error(`The statement ${name} does not say where its bucket goes.`);
  return {
    name: `${name}-of-bucket`,
    text: text.replaceAll(BUCKET_TERM, `and t.bucket = $${place}::smallint`),
  };
}

/** Where `ofOneBucket` puts the term; after another term of a condition. */
export const BUCKET_TERM = "/* and its bucket */";

/** The one bucket that all of them lie in. Throws where there is more than one: on Citus a transaction has one. */
export function oneBucketOf(of: readonly { readonly bucket: number }[]): number {
  const bucket = of[0]?.bucket ?? 0;
  for (const other of of)
    if (other.bucket !== bucket) throw new Error(`Buckets ${bucket} and ${other.bucket} in one statement.`);
  return bucket;
}
