import { createHmac } from "node:crypto";
import { readRecord } from "#contract/read-record.ts";
import { identifyingTextsOf, redactRecord } from "#contract/redact-record.ts";
import { resourceOf } from "#contract/resource.ts";
import type { RecordIdentity, RedactionList } from "../../ingest/redact/redaction-list.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import type { PartKey } from "../../retention/rewrite-part.ts";
import { type LogWriterPositions, type ScannedPart, scanBucket } from "../../retention/scan-log.ts";

/** Records that say who somebody is: what reservations and group block masters have, and inventory has not. */
const PERSONAL_RESOURCES = ["r", "g"] as const;

/** Bytes read between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

/** A record of a subject, as it lies in the log. */
export interface Hit {
  readonly part: PartKey;
  readonly index: number;
  readonly identity: RecordIdentity;
  /** ISO 8601 with six digits, so that text order is time order. */
  readonly sourceTime: string;
  /** What it is known by. */
  readonly contentHash: string;
  /** What the redacted bytes would be known by. */
  readonly redactedHash: string;
  /** It holds nothing personal any more. */
  readonly isClean: boolean;
  /** By which the person could be found elsewhere. */
  readonly words: readonly string[];
}

function hitsOf({ part, records }: ScannedPart, subjects: RedactionList): Hit[] {
  const resource = resourceOf(part.resource);
  const { bucket, logWriterId, requestId } = part;
  return records.flatMap(({ index, bytes, hashOverride, isRejected }): Hit[] => {
    if (isRejected) return [];
    const { clientCode, propertyCode, key, sourceTime, contentHash } = readRecord(resource, bytes);
    const identity = { resource, clientCode, propertyCode, key };
    if (!subjects.isSubject(identity, bytes)) return [];
    const redacted = redactRecord(resource, bytes);
    const isClean = hashOverride !== undefined || redacted.equals(bytes);
    return [
      {
        part: { bucket, logWriterId, requestId },
        index,
        identity,
        sourceTime,
        isClean,
        contentHash: hashOverride ?? contentHash,
        redactedHash: isClean ? contentHash : readRecord(resource, redacted).contentHash,
        words: isClean ? [] : identifyingTextsOf(resource, bytes),
      },
    ];
  });
}

/** Finds what the log of one bucket has of the subjects, from `positions` on, which are moved. */
export async function findHits(
  client: Queryable,
  bucket: number,
  subjects: RedactionList,
  positions: LogWriterPositions,
): Promise<Hit[]> {
  const hits: Hit[] = [];
  let sinceTurn = 0;
  for await (const scanned of scanBucket(client, bucket, PERSONAL_RESOURCES, positions)) {
    hits.push(...hitsOf(scanned, subjects));
    sinceTurn += scanned.records.reduce((bytes, record) => bytes + record.bytes.length, 0);
    if (sinceTurn < TURN_BYTES) continue;
    sinceTurn = 0;
    await new Promise((resume) => setImmediate(resume));
  }
  return hits;
}

const HASH_DIGITS = 32;

/** What a content of one record is known by from now on. */
export interface HashOverride {
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
 * that every outcome stays what it was and comes again in a replay. The newest content is known by the hash of its redacted bytes,
 * so that the same record sent again, which is redacted on arrival, is unchanged; a content that differs from it in what was
 * taken out alone gets a token.
 */
export function hashOverridesOf(hits: readonly Hit[], salt: Buffer): HashOverride[] {
  const hashOverrides: HashOverride[] = [];
  for (const [, ofRecord] of Map.groupBy(hits, ({ identity }) => identityText(identity))) {
    const claimed = new Set(ofRecord.filter(({ isClean }) => isClean).map(({ contentHash }) => contentHash));
    const done = new Set<string>();
    for (const { identity, contentHash: before, redactedHash, isClean } of ofRecord.toSorted(newestFirst)) {
      if (isClean || done.has(before)) continue;
      done.add(before);
      const after = claimed.has(redactedHash) ? tokenOf(salt, identity, before) : redactedHash;
      claimed.add(after);
      hashOverrides.push({ identity, before, after });
    }
  }
  return hashOverrides;
}
