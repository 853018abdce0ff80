import { RecordReader, readRecord } from "#contract/read-record.ts";
import type { RecordReading } from "#contract/record-reading.ts";
import { resourceOf } from "#contract/resource.ts";
import { latestSourceTime } from "#contract/source-time.ts";
import { openLayout } from "../ingest/log/open-layout.ts";
import type { StoredRecord } from "../ingest/log/rewrite-body.ts";
import type { RedactionList } from "../ingest/redact/redaction-list.ts";
import type { LogPart } from "./backlog.ts";
import type { PropertyDirectory } from "./property-directory.ts";
import { type ApplicableRecord, type HeldRecord, UNREADABLE } from "./record.ts";

/** Bytes read between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

/** A record of a part: to be applied, or to be held. */
export type PartRecord =
  | { readonly kind: "applicable"; readonly index: number; readonly record: ApplicableRecord }
  | { readonly kind: "held"; readonly index: number; readonly held: HeldRecord };

/** What a record's bytes say; undefined where they cannot be read, which is a fault of ours (a rule that changed). */
function readingOf(reader: RecordReader, start: number, end: number): RecordReading | undefined {
  try {
    return reader.read(start, end);
  } catch {
    return undefined;
  }
}

/** Accept checked it, so the record is held, and never the whole bucket. */
function unreadable(part: LogPart, index: number): PartRecord {
  const { bucket, resource, requestId } = part;
  const of = { bucket, propertyId: 0, resource, key: "" };
  return {
    kind: "held",
    index,
    held: { of, requestId, index, code: "record.unreadable", message: UNREADABLE },
  };
}

/** What was said of the last record that was ahead: batches often name one time throughout. */
let lastAhead = { sourceTime: "", receivedAt: 0, message: "" };

function aheadMessage(sourceTime: string, receivedAt: number): string {
  if (lastAhead.sourceTime !== sourceTime || lastAhead.receivedAt !== receivedAt) {
    const minutes = Math.round((Date.parse(sourceTime) - receivedAt) / 60_000);
    const message = `The record's source time ${sourceTime} is ${minutes} minutes after its receipt; more than 10 are held until an operator releases it.`;
    lastAhead = { sourceTime, receivedAt, message };
  }
  return lastAhead.message;
}

function recordOf(
  part: LogPart,
  index: number,
  reading: RecordReading,
  propertyId: number,
  latest: string | null,
): PartRecord {
  const { bucket, resource, requestId, receivedAt } = part;
  const { clientCode, key, sourceTime, contentHash, content } = reading;
  const of = { bucket, propertyId, resource, key };
  if (latest !== null && sourceTime > latest) {
    const message = aheadMessage(sourceTime, receivedAt.getTime());
    return { kind: "held", index, held: { of, requestId, index, code: "time.future", message } };
  }
  const incoming = { sourceTime, contentHash, requestId, index, filters: content };
  return { kind: "applicable", index, record: { of, clientCode, incoming, content } };
}

/** What a record is known by, where its bytes are no longer those that were sent (see HashOverrides). */
function knownBy(reading: RecordReading, hashOverride: string | undefined): RecordReading {
  if (hashOverride === undefined) return reading;
  const { clientCode, propertyCode, key, sourceTime, content } = reading;
  return { clientCode, propertyCode, key, sourceTime, contentHash: hashOverride, content };
}

/** Reads one record that an operator has released, so its source time is not questioned. */
export async function readReleasedRecord(
  part: LogPart,
  { index, bytes, hashOverride }: StoredRecord,
  properties: PropertyDirectory,
): Promise<PartRecord> {
  const read = readingOf(new RecordReader(resourceOf(part.resource), bytes), 0, bytes.length);
  if (read === undefined) return unreadable(part, index);
  const reading = knownBy(read, hashOverride);
  const propertyId = await properties.idOf(reading.clientCode, reading.propertyCode);
  return recordOf(part, index, reading, propertyId, null);
}

/** A part with its records read. */
export interface ReadPart {
  readonly part: LogPart;
  readonly records: readonly PartRecord[];
  /** By index, records of the erasure list as they are to be kept, which came as they were sent. */
  readonly redacted?: ReadonlyMap<number, Buffer>;
  /** Of the whole part, as it was sent: what it takes in memory is a small multiple of this. */
  readonly inflatedBytes: number;
}

/** Reads a record of the erasure list as it is to be kept; undefined for all others. */
function readErased(
  part: LogPart,
  { clientCode, propertyCode, key }: RecordReading,
  bytes: Buffer,
  redactions: RedactionList,
): { readonly reading: RecordReading; readonly bytes: Buffer } | undefined {
  const resource = resourceOf(part.resource);
  const erased = redactions.erased({ resource, clientCode, propertyCode, key }, bytes);
  return erased && { reading: readRecord(resource, erased), bytes: erased };
}

/**
 * Reads every accepted record of a part, in the order of the batch; rejected and dropped ones are passed over. Those of the
 * erasure list are read as they are to be kept, also where they were accepted by one who did not know of it.
 */
export async function readPart(
  part: LogPart,
  properties: PropertyDirectory,
  redactions?: RedactionList,
): Promise<ReadPart> {
  if (part.layout === null || part.body === null)
    throw new Error(`Part ${part.requestId} of the log has no body.`);
  const records: PartRecord[] = [];
  const redacted = new Map<number, Buffer>();
  const layout = await openLayout(part, part.layout);
  const latest = latestSourceTime(part.receivedAt.getTime());
  for (const chunk of layout.chunksOf(part.body, part.rejectedIndexes)) {
    const reader = new RecordReader(resourceOf(part.resource), chunk.bytes);
    let turnAt = TURN_BYTES;
    let end = 0;
    for (let position = chunk.firstRecord; position < chunk.firstRecord + chunk.recordCount; position += 1) {
      const start = end;
      end += layout.bytesAt(position);
      if (end > turnAt) {
        // Batches are being accepted on this very loop.
        turnAt = end + TURN_BYTES;
        await new Promise((resume) => setImmediate(resume));
      }
      const index = layout.indexAt(position);
      if (part.rejectedIndexes.has(index) || start === end) continue;
      const read = readingOf(reader, start, end);
      if (read === undefined) {
        records.push(unreadable(part, index));
        continue;
      }
      const hashOverride = layout.hasHashOverrides ? layout.hashOverrideAt(position) : undefined;
      const erased =
        redactions?.isEmpty !== false || hashOverride !== undefined
          ? undefined
          : readErased(part, read, chunk.bytes.subarray(start, end), redactions);
      if (erased !== undefined) redacted.set(index, erased.bytes);
      const reading = erased?.reading ?? knownBy(read, hashOverride);
      const { clientCode, propertyCode } = reading;
      // Nearly always remembered: a promise a record would cost more than looking it up.
      const propertyId =
        properties.knownIdOf(clientCode, propertyCode) ?? (await properties.idOf(clientCode, propertyCode));
      records.push(recordOf(part, index, reading, propertyId, latest));
    }
  }
  return {
    part,
    records,
    inflatedBytes: layout.inflatedBytes,
    ...(redacted.size === 0 ? {} : { redacted }),
  };
}
