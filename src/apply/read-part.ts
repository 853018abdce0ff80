import { BodyLayout } from "../accept/body-layout.ts";
import { type RecordReading, readRecord } from "../contract/read-record.ts";
import { resourceOf } from "../contract/resource.ts";
import type { LogPart } from "./backlog.ts";
import type { PropertyDirectory } from "./property-directory.ts";
import type { ApplicableRecord, HeldRecord } from "./record.ts";

/**
 * A source time further ahead of the receipt than this would win for ever, so the record is held aside. Compared with
 * the receipt, not with today, so that a replay decides the same.
 */
const SOURCE_TIME_AHEAD_MS_MAX = 10 * 60_000;

/** Bytes read between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

/** A record of a part: to be applied, or to be held. */
export type PartRecord =
  | { readonly kind: "applicable"; readonly index: number; readonly record: ApplicableRecord }
  | { readonly kind: "held"; readonly index: number; readonly held: HeldRecord };

/** Reads one record's bytes. `trusted`: an operator has released it, so its source time is not questioned. */
export async function readPartRecord(
  part: LogPart,
  index: number,
  bytes: Buffer,
  properties: PropertyDirectory,
  trusted: boolean,
): Promise<PartRecord> {
  let reading: RecordReading;
  try {
    reading = readRecord(resourceOf(part.resource), bytes);
  } catch {
    // Accept checked it, so this is a fault of ours (a rule that changed): hold the record, never the whole bucket.
    const of = { bucket: part.bucket, propertyId: 0, resource: part.resource, key: "" };
    const message = "The record could not be read again after it was accepted; an operator has been told.";
    return {
      kind: "held",
      index,
      held: { of, requestId: part.requestId, index, code: "record.unreadable", message },
    };
  }
  const propertyId = await properties.idOf(reading.clientCode, reading.propertyCode);
  const of = { bucket: part.bucket, propertyId, resource: part.resource, key: reading.key };
  const aheadMs = Date.parse(reading.sourceTime) - part.receivedAt.getTime();
  if (aheadMs > SOURCE_TIME_AHEAD_MS_MAX && !trusted) {
    const message = `The record's source time ${reading.sourceTime} is ${Math.round(aheadMs / 60_000)} minutes after its receipt; more than 10 are held until an operator releases it.`;
    return {
      kind: "held",
      index,
      held: { of, requestId: part.requestId, index, code: "time.future", message },
    };
  }
  const incoming = {
    sourceTime: reading.sourceTime,
    contentHash: reading.contentHash.toString("hex"),
    requestId: part.requestId,
    index,
    status: reading.status,
    fromDate: reading.fromDate,
    toDate: reading.toDate,
  };
  const { facts, roomTypeCodes, warnings } = reading;
  return {
    kind: "applicable",
    index,
    record: { of, clientCode: reading.clientCode, incoming, facts, roomTypeCodes, warnings },
  };
}

/** A part with its records read. */
export interface ReadPart {
  readonly part: LogPart;
  readonly records: readonly PartRecord[];
  /** Of the whole part, as it was sent: what it takes in memory is a small multiple of this. */
  readonly inflatedBytes: number;
}

/** Reads every accepted record of a part, in the order of the batch; rejected ones are passed over. */
export async function readPart(part: LogPart, properties: PropertyDirectory): Promise<ReadPart> {
  if (part.layout === null || part.body === null)
    throw new Error(`Part ${part.requestId} of the log has no body.`);
  const records: PartRecord[] = [];
  const layout = new BodyLayout(part.layout);
  let sinceTurn = 0;
  for (const { index, bytes } of layout.allRecords(part.body)) {
    sinceTurn += bytes.length;
    if (sinceTurn > TURN_BYTES) {
      // Batches are being accepted on this very loop.
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
    if (part.rejectedIndexes.has(index)) continue;
    records.push(await readPartRecord(part, index, bytes, properties, false));
  }
  return { part, records, inflatedBytes: layout.inflatedBytes };
}
