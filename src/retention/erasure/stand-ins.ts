import { createHmac } from "node:crypto";
import type { RecordIdentity } from "../../accept/strip-list.ts";
import type { Hit } from "./find-hits.ts";

const HASH_DIGITS = 32;

/** What a content of one record is known by from now on. */
export interface StandIn {
  readonly identity: RecordIdentity;
  readonly before: string;
  readonly after: string;
}

export function identityText({ resource, clientCode, propertyCode, key }: RecordIdentity): string {
  return JSON.stringify([resource, clientCode, propertyCode, key]);
}

/** Newest first, as the state orders versions: source time, then receipt. */
function newestFirst(left: Hit, right: Hit): number {
  const order = (hit: Hit) => [hit.sourceTime, hit.part.requestId, String(hit.index).padStart(8, "0")].join();
  return order(left) < order(right) ? 1 : -1;
}

/** What no hash of the record's contents can be told from, and nobody can try out once the salt is gone. */
export function tokenOf(salt: Buffer, identity: RecordIdentity, before: string): string {
  const token = createHmac("sha256", salt)
    .update(`${identityText(identity)}\0${before}`)
    .digest("hex");
  return token.slice(0, HASH_DIGITS);
}

/**
 * What stands for each content of the records that are redacted: contents that were equal stay equal, and different ones different, so
 * that every outcome stays what it was and comes again in a replay. The newest content is known by the hash of its stripped bytes,
 * so that the same record sent again, which is stripped on arrival, is unchanged; a content that differs from it in what was
 * taken out alone gets a token.
 */
export function standInsOf(hits: readonly Hit[], salt: Buffer): StandIn[] {
  const standIns: StandIn[] = [];
  for (const [, ofRecord] of Map.groupBy(hits, ({ identity }) => identityText(identity))) {
    const claimed = new Set(ofRecord.filter(({ isClean }) => isClean).map(({ contentHash }) => contentHash));
    const done = new Set<string>();
    for (const { identity, contentHash: before, strippedHash, isClean } of ofRecord.toSorted(newestFirst)) {
      if (isClean || done.has(before)) continue;
      done.add(before);
      const after = claimed.has(strippedHash) ? tokenOf(salt, identity, before) : strippedHash;
      claimed.add(after);
      standIns.push({ identity, before, after });
    }
  }
  return standIns;
}
