import { hash } from "node:crypto";

/** Fixed for ever: the bucket of a property is part of every key. 64 owners are the most that can share the work. */
export const BUCKET_COUNT = 64;

/**
 * The bucket a property belongs to, computed from its codes alone so that no lookup is needed to route a record.
 * The NUL between the codes cannot occur in either (the contract refuses it), so no two properties are confused.
 */
export function bucketOf(clientCode: string, propertyCode: string): number {
  return hash("sha256", `${clientCode}\0${propertyCode}`, "buffer").readUInt16BE(0) % BUCKET_COUNT;
}
