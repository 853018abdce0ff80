import { BUCKET_COUNT } from "../accept/bucket.ts";

/**
 * How many buckets an applier is to hold: all of them shared out evenly among those present, one more to each of the
 * first where that does not come out even. Who is not among those present counts as the last of them.
 */
export function fairShare(present: readonly string[], me: string): number {
  const appliers = present.includes(me) ? present : [...present, me];
  const least = Math.floor(BUCKET_COUNT / appliers.length);
  return least + (appliers.indexOf(me) < BUCKET_COUNT % appliers.length ? 1 : 0);
}
