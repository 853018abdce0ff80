import { hash } from "node:crypto";

/** Fixed for ever: the bucket of a property is part of every key. 64 owners are the most that can share the work. */
export const BUCKET_COUNT = 64;
export const ALL_BUCKETS: readonly number[] = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket);

/** Answers remembered, of a few hundred bytes each: a hash takes 5 µs, and a client's properties come again and again. */
const REMEMBERED_MAX = 16_384;
const remembered = new Map<string, number>();

/**
 * The bucket a property belongs to, computed from its codes alone so that no lookup is needed to route a record.
 * The NUL between the codes cannot occur in either (the contract refuses it), so no two properties are confused.
 */
export function bucketOf(clientCode: string, propertyCode: string): number {
  const codes = `${clientCode}\0${propertyCode}`;
  const known = remembered.get(codes);
  if (known !== undefined) return known;
  const bucket = hash("sha256", codes, "buffer").readUInt16BE(0) % BUCKET_COUNT;
  if (remembered.size === REMEMBERED_MAX) remembered.clear();
  remembered.set(codes, bucket);
  return bucket;
}
