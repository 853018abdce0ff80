import { BellhopError } from "./error.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/** Twice what the service takes for one record, so that it is the service that refuses one. */
const RECORD_BYTES_MAX = 16_777_216;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** An input that is none of records. */
export function unreadable(clause: string, cause?: unknown): BellhopError {
  return new BellhopError(`The input cannot be read: ${clause}.`, {
    exception: "client.UnreadableInput",
    cause,
  });
}

/**
 * Finds where each record of a JSON array or of NDJSON begins and ends, in bytes that come in pieces of any size. It looks at brackets and
 * texts only: whether a record is JSON is for others to say, so that one that is not keeps no other from being read.
 */
export class RecordCutter {
  #kind: "unknown" | "array" | "lines" | "over" = "unknown";
  /** Bytes from the beginning of the record that is not whole yet, of which `#at` have been looked at. */
  #rest: Uint8Array = new Uint8Array(0);
  #at = 0;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isAfterComma = false;
  /** Bytes before `#rest`, for messages. */
  #offset = 0;

  /** The records that these bytes complete, without the whitespace around them. */
  push(chunk: Uint8Array): Uint8Array[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const records: Uint8Array[] = [];
    let start = this.#kind === "unknown" ? this.#open(bytes) : 0;
    if (this.#kind === "lines") start = this.#cutLines(bytes, start, records);
    if (this.#kind === "array") start = this.#cutArray(bytes, start, records);
    if (this.#kind === "over") start = this.#closed(bytes, start);
    this.#rest = bytes.subarray(start);
    this.#offset += start;
    this.#at = this.#kind === "unknown" || this.#kind === "over" ? 0 : this.#rest.length;
    if (this.#rest.length > RECORD_BYTES_MAX)
      throw unreadable(`the record at byte ${this.#offset} has more than ${RECORD_BYTES_MAX} bytes`);
    return records;
  }

  /** The last record, where no line feed follows it. Throws `client.UnreadableInput` where the input ends too early. */
  end(): Uint8Array | undefined {
    if (this.#kind === "unknown")
      throw unreadable("it is empty; give a JSON array of records, or a record a line");
    if (this.#kind === "array")
      throw unreadable("it ends before the array's ']': it was cut off, or a record's brackets do not match");
    const last = this.#kind === "lines" ? trimmed(this.#rest, 0, this.#rest.length) : undefined;
    return last?.length === 0 ? undefined : last;
  }

  /** What kind it is, by its first bytes; answers where the first record may begin. */
  #open(bytes: Uint8Array): number {
    const hasMark = this.#offset === 0 && BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte);
    let at = hasMark ? BYTE_ORDER_MARK.length : 0;
    while (isSpace(bytes[at])) at += 1;
    const first = bytes[at];
    if (first === undefined) return at;
    if (first === OPEN_ARRAY) this.#kind = "array";
    else if (first === OPEN_OBJECT) this.#kind = "lines";
    else if (!hasMark && first === BYTE_ORDER_MARK[0] && bytes.length < BYTE_ORDER_MARK.length) return at;
    else
      throw unreadable(
        "it begins with neither '[' nor '{'; give a JSON array of records, or a record a line",
      );
    return first === OPEN_ARRAY ? at + 1 : at;
  }

  #cutLines(bytes: Uint8Array, from: number, records: Uint8Array[]): number {
    let start = from;
    for (;;) {
      const end = bytes.indexOf(LINE_FEED, Math.max(start, this.#at));
      if (end < 0) return start;
      const record = trimmed(bytes, start, end);
      if (record.length > 0) records.push(record);
      start = end + 1;
    }
  }

  #cutArray(bytes: Uint8Array, from: number, records: Uint8Array[]): number {
    let start = from;
    for (let at = Math.max(from, this.#at); at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isInText = false;
      } else if (byte === QUOTE) this.#isInText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
      else if (this.#depth > 0) {
        if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth -= 1;
      } else if (byte === COMMA || byte === CLOSE_ARRAY) {
        const record = trimmed(bytes, start, at);
        const isLast = byte === CLOSE_ARRAY;
        if (record.length > 0) records.push(record);
        else if (!isLast || this.#isAfterComma)
          throw unreadable(`at byte ${this.#offset + at} a record was expected`);
        start = at + 1;
        this.#isAfterComma = !isLast;
        if (!isLast) continue;
        this.#kind = "over";
        return start;
      }
    }
    return start;
  }

  #closed(bytes: Uint8Array, from: number): number {
    const next = bytes.subarray(from).findIndex((byte) => !isSpace(byte));
    if (next >= 0)
      throw unreadable(`at byte ${this.#offset + from + next} its end was expected, after the array's ']'`);
    return bytes.length;
  }
}

function trimmed(bytes: Uint8Array, from: number, to: number): Uint8Array {
  let start = from;
  let end = to;
  while (start < end && isSpace(bytes[start])) start += 1;
  while (end > start && isSpace(bytes[end - 1])) end -= 1;
  return bytes.subarray(start, end);
}
