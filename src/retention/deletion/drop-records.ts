import type pg from "pg";
import type { LogPart } from "../../apply/backlog.ts";
import { readRecord } from "../../contract/read-record.ts";
import { type ResourceLetter, resourceOf } from "../../contract/resource.ts";
import { identityOnly } from "../../contract/strip-record.ts";
import { readStatement } from "../../db/statement.ts";
import { rewritePart } from "../rewrite-part.ts";
import { type LanePositions, type ScannedPart, type ScannedRecord, scanBucket } from "../scan-log.ts";
import type { DeletedProperty } from "./delete-rows.ts";

const isApplied = readStatement(new URL("./sql/is-applied.sql", import.meta.url));
const dropDetails = readStatement(new URL("./sql/drop-details.sql", import.meta.url));

const ALL_RESOURCES: readonly ResourceLetter[] = ["i", "r", "g"];
/** Bytes read between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

/** The records of a property in one part of the log. */
export interface PartOfProperty {
  readonly part: Pick<LogPart, "bucket" | "laneId" | "requestId">;
  readonly indexes: ReadonlySet<number>;
}

function isOf(
  property: DeletedProperty,
  resource: ResourceLetter,
  { bytes, isRejected }: ScannedRecord,
): boolean {
  const named = isRejected
    ? identityOnly(resourceOf(resource), bytes)
    : readRecord(resourceOf(resource), bytes);
  return named.clientCode === property.clientCode && named.propertyCode === property.propertyCode;
}

function ofProperty({ part, records }: ScannedPart, property: DeletedProperty): PartOfProperty[] {
  const indexes = new Set(
    records.filter((record) => isOf(property, part.resource, record)).map(({ index }) => index),
  );
  const { bucket, laneId, requestId } = part;
  return indexes.size === 0 ? [] : [{ part: { bucket, laneId, requestId }, indexes }];
}

/** Finds a property's records in the log of its bucket, from `positions` on, which are moved. */
export async function findRecordsOf(
  client: pg.ClientBase,
  property: DeletedProperty,
  positions: LanePositions,
): Promise<PartOfProperty[]> {
  const found: PartOfProperty[] = [];
  let sinceTurn = 0;
  for await (const scanned of scanBucket(client, property.bucket, ALL_RESOURCES, positions)) {
    found.push(...ofProperty(scanned, property));
    sinceTurn += scanned.records.reduce((bytes, record) => bytes + record.bytes.length, 0);
    if (sinceTurn < TURN_BYTES) continue;
    sinceTurn = 0;
    await new Promise((resume) => setImmediate(resume));
  }
  return found;
}

/** How many of the parts have not been applied yet: their records' outcomes are still to be decided. */
export async function countWaiting(client: pg.ClientBase, parts: readonly PartOfProperty[]): Promise<number> {
  let waiting = 0;
  for (const { part } of parts) {
    const values = [part.bucket, part.laneId, part.requestId];
    const { rows } = await client.query<{ applied: boolean }>({ ...isApplied, values });
    if (rows[0]?.applied !== true) waiting += 1;
  }
  return waiting;
}

/** Drops the records from their parts: their places stay, and those of other properties' records in the same batch. */
export async function dropRecords(client: pg.ClientBase, parts: readonly PartOfProperty[]): Promise<void> {
  for (const { part, indexes } of parts) {
    await rewritePart(client, part, ({ index }) => (indexes.has(index) ? "drop" : "keep"));
    await client.query({ ...dropDetails, values: [part.bucket, part.requestId, [...indexes].map(String)] });
  }
}
