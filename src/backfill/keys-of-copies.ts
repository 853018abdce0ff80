import { BodyLayout } from "../accept/body-layout.ts";
import { readRecord } from "../contract/read-record.ts";
import { letterOf, type Resource } from "../contract/resource.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import { loadRecords, type RecordPointer } from "../read/load-records.ts";
import { forEachResource } from "../read/version-statement.ts";

const findCopies = forEachResource(readStatement(new URL("./sql/find-copies.sql", import.meta.url)));

/** Requests whose layouts are in memory at once: of full batches 5 MB. */
const REQUESTS_AT_ONCE = 64;
/** Bytes read between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

interface CopyRow {
  readonly request_id: string;
  readonly layout: Buffer;
  readonly known: readonly number[];
}

/** Whose copies are asked for. */
export interface CopiesAsked {
  readonly bucket: number;
  readonly propertyId: number;
  readonly upTo: string;
  readonly resource: Resource;
}

/**
 * The keys of those applied records of some requests that are no version of their own, as the same record with the same source
 * time had come before: read from the log, some requests at a time.
 */
export async function keysOfCopies(
  client: Queryable,
  { bucket, propertyId, upTo, resource }: CopiesAsked,
  requestIds: readonly string[],
): Promise<{ readonly keys: ReadonlySet<string>; readonly recordsRead: number }> {
  const keys = new Set<string>();
  let recordsRead = 0;
  let sinceTurn = 0;
  for (let at = 0; at < requestIds.length; at += REQUESTS_AT_ONCE) {
    const { rows } = await client.query<CopyRow>({
      ...findCopies[letterOf(resource)],
      values: [bucket, propertyId, upTo, requestIds.slice(at, at + REQUESTS_AT_ONCE)],
    });
    const copies = rows.flatMap((row) => [...copiesOf(bucket, row)]);
    for await (const bytes of loadRecords(client, copies)) {
      keys.add(readRecord(resource, bytes).key);
      recordsRead += 1;
      sinceTurn += bytes.length;
      if (sinceTurn < TURN_BYTES) continue;
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
  }
  return { keys, recordsRead };
}

function* copiesOf(
  bucket: number,
  { request_id: requestId, layout, known }: CopyRow,
): Generator<RecordPointer> {
  const told = new Set(known);
  const records = new BodyLayout(layout);
  for (let position = 0; position < records.recordCount; position += 1) {
    const index = records.indexAt(position);
    if (!told.has(index)) yield { bucket, requestId, index };
  }
}
