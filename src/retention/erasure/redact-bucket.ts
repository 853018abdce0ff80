import type pg from "pg";
import type { RecordIdentity, StripList } from "../../accept/strip-list.ts";
import { letterOf } from "../../contract/resource.ts";
import { ERASED, stripRecord } from "../../contract/strip-record.ts";
import { readStatement } from "../../db/statement.ts";
import { withTransaction } from "../../db/transaction.ts";
import { RESOURCE_LETTERS } from "../../state/version-tables.ts";
import { endLeases } from "../end-leases.ts";
import { rewritePart } from "../rewrite-part.ts";
import type { LanePositions } from "../scan-log.ts";
import { findHits, type Hit } from "./find-hits.ts";
import { findUnlogged } from "./find-unlogged.ts";
import { redactCorrelationIds, redactDetails } from "./redact-details.ts";
import { redactState } from "./redact-state.ts";
import { identityText, type StandIn, standInsOf } from "./stand-ins.ts";
import { partsOfWords } from "./words.ts";

const findProperties = readStatement(new URL("./sql/find-properties-of-bucket.sql", import.meta.url));

/** What was redacted of one bucket, or of several together. */
export interface RedactedCounts {
  logParts: number;
  logRecords: number;
  versions: number;
  outcomeDetails: number;
  correlationIds: number;
}

export interface RedactedBucket {
  readonly counts: RedactedCounts;
  /** Whose records were found, redacted now or before. */
  readonly found: readonly RecordIdentity[];
  /** By which the person could be found elsewhere. */
  readonly words: readonly string[];
}

/** Writes the records of the hits anew, part by part. */
async function redactLog(
  client: pg.ClientBase,
  hits: readonly Hit[],
  standIns: readonly StandIn[],
): Promise<number> {
  const after = new Map(
    standIns.map((standIn) => [`${identityText(standIn.identity)}\0${standIn.before}`, standIn.after]),
  );
  let parts = 0;
  for (const [, ofPart] of Map.groupBy(hits, ({ part }) => `${part.laneId}/${part.requestId}`)) {
    const byIndex = new Map(ofPart.map((hit) => [hit.index, hit]));
    const [first] = ofPart;
    if (first === undefined) continue;
    const isRewritten = await rewritePart(client, first.part, ({ index, bytes }) => {
      const hit = byIndex.get(index);
      if (hit === undefined) return "keep";
      const contentHash = after.get(`${identityText(hit.identity)}\0${hit.contentHash}`);
      if (contentHash === undefined) throw new Error(`No stand-in was made for ${ERASED} record ${index}.`);
      return { bytes: stripRecord(hit.identity.resource, bytes), contentHash };
    });
    if (isRewritten) parts += 1;
  }
  return parts;
}

/** The numbers of the properties of a bucket, by their codes. */
async function propertyIds(client: pg.ClientBase, bucket: number): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ client_code: string; property_code: string; property_id: number }>({
    ...findProperties,
    values: [bucket],
  });
  return new Map(rows.map((row) => [JSON.stringify([row.client_code, row.property_code]), row.property_id]));
}

/** What is taken out of a bucket. */
export interface BucketRun {
  readonly bucket: number;
  /** Tells of any record whether it is a subject's. */
  readonly subjects: StripList;
  /** The subjects that are known by their key, whether or not the log has anything of them. */
  readonly named: readonly RecordIdentity[];
  readonly salt: Buffer;
}

/** The records that are redacted, each once, with the number of its property. */
async function recordsOf(client: pg.ClientBase, { bucket, named }: BucketRun, hits: readonly Hit[]) {
  const ids = await propertyIds(client, bucket);
  const all = [...named, ...hits.map(({ identity }) => identity)];
  const records = new Map(all.map((identity) => [identityText(identity), identity]));
  return [...records.values()].flatMap((identity) => {
    const propertyId = ids.get(JSON.stringify([identity.clientCode, identity.propertyCode]));
    return propertyId === undefined ? [] : [{ identity, propertyId }];
  });
}

/** Has versions and current records follow; answers of how many versions. */
async function renameContents(
  client: pg.ClientBase,
  bucket: number,
  standIns: readonly StandIn[],
  records: readonly { readonly identity: RecordIdentity; readonly propertyId: number }[],
): Promise<number> {
  const ids = new Map(records.map(({ identity, propertyId }) => [identityText(identity), propertyId]));
  let versions = 0;
  for (const resource of RESOURCE_LETTERS) {
    const contents = standIns
      .filter(({ identity }) => letterOf(identity.resource) === resource)
      .map(({ identity, before, after }) => ({
        ...{ propertyId: ids.get(identityText(identity)) ?? 0, key: identity.key, before, after },
      }));
    versions += await redactState(client, bucket, resource, contents);
  }
  return versions;
}

/**
 * Takes the subjects out of one bucket in one transaction: its log, versions, current records and details of outcomes. It is read
 * once before, while traffic goes on, and what came meanwhile then, under the bucket's lease; whoever applies it next knows the
 * list. So in any state that can be seen either all of it is redacted or nothing.
 */
export async function redactBucket(client: pg.ClientBase, run: BucketRun): Promise<RedactedBucket> {
  const { bucket, subjects, salt } = run;
  const positions: LanePositions = new Map();
  const before = await findHits(client, bucket, subjects, positions);
  return withTransaction(client, async () => {
    await endLeases(client, [bucket]);
    const hits = [...before, ...(await findHits(client, bucket, subjects, positions))];
    const dirty = hits.filter(({ isClean }) => !isClean);
    const words = [...new Set(dirty.flatMap((hit) => hit.words))];
    const records = await recordsOf(client, run, hits);
    const standIns = standInsOf(hits, salt);
    const unlogged = await findUnlogged(client, bucket, records, hits, salt);
    const logParts = await redactLog(client, dirty, standIns);
    const versions = await renameContents(client, bucket, [...standIns, ...unlogged], records);
    const parts = partsOfWords(words);
    const outcomeDetails = await redactDetails(client, dirty, parts);
    const correlationIds = await redactCorrelationIds(client, dirty, parts);
    return {
      counts: { logParts, logRecords: dirty.length, versions, outcomeDetails, correlationIds },
      found: records.map(({ identity }) => identity),
      words,
    };
  });
}
