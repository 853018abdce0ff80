import type { RecordIdentity, StripList } from "../../accept/strip-list.ts";
import { readRecord } from "../../contract/read-record.ts";
import { resourceOf } from "../../contract/resource.ts";
import { identifyingTextsOf, stripRecord } from "../../contract/strip-record.ts";
import type { Queryable } from "../../db/transaction.ts";
import type { PartKey } from "../rewrite-part.ts";
import { type LanePositions, type ScannedPart, scanBucket } from "../scan-log.ts";

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
  /** What the stripped bytes would be known by. */
  readonly strippedHash: string;
  /** It holds nothing personal any more. */
  readonly isClean: boolean;
  /** By which the person could be found elsewhere. */
  readonly words: readonly string[];
}

function hitsOf({ part, records }: ScannedPart, subjects: StripList): Hit[] {
  const resource = resourceOf(part.resource);
  const { bucket, laneId, requestId } = part;
  return records.flatMap(({ index, bytes, standIn, isRejected }): Hit[] => {
    if (isRejected) return [];
    const { clientCode, propertyCode, key, sourceTime, contentHash } = readRecord(resource, bytes);
    const identity = { resource, clientCode, propertyCode, key };
    if (!subjects.isSubject(identity, bytes)) return [];
    const stripped = stripRecord(resource, bytes);
    const isClean = standIn !== undefined || stripped.equals(bytes);
    return [
      {
        ...{ part: { bucket, laneId, requestId }, index, identity, sourceTime, isClean },
        contentHash: standIn ?? contentHash,
        strippedHash: isClean ? contentHash : readRecord(resource, stripped).contentHash,
        words: isClean ? [] : identifyingTextsOf(resource, bytes),
      },
    ];
  });
}

/** Finds what the log of one bucket has of the subjects, from `positions` on, which are moved. */
export async function findHits(
  client: Queryable,
  bucket: number,
  subjects: StripList,
  positions: LanePositions,
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
