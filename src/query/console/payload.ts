import type pg from "pg";
import type { Payload } from "../../console/answers.ts";
import { loadRecords, type RecordPointer } from "../load-records.ts";

/** A record may have tens of megabytes; a page is shown the beginning. */
const SHOWN_BYTES_MAX = 1_048_576;

/** The text of a record, at most `bytesMax` of it, cut between two characters. */
export function payloadOf(record: Buffer, bytesMax = SHOWN_BYTES_MAX): Payload {
  let end = Math.min(record.length, bytesMax);
  // A byte 10xxxxxx goes on with a character that began before it.
  while (end < record.length && end > 0 && ((record[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return {
    text: record.toString("utf8", 0, end),
    bytes: record.length,
    truncated: end < record.length,
  };
}

/** The payload of one record of the log. */
export async function readPayload(pool: pg.Pool, pointer: RecordPointer): Promise<Payload> {
  for await (const record of loadRecords(pool, [pointer])) return payloadOf(record);
  throw new Error(`The log has no record ${pointer.index} of request ${pointer.requestId}.`);
}
