import { isWhitespace, newElementScan, scanElement, skipWhitespace } from "./scan-element.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** What one pass over an accepted record's bytes finds. */
export interface RecordScan {
  /** Start and end of each unbroken run of top-level members whose names are not ignored. */
  readonly runs: readonly number[];
  /** HAS_UNICODE_ESCAPE, HAS_LONG_NUMBER of `scan-element.ts`. */
  readonly doubts: number;
}

const member = newElementScan();

/**
 * Goes over the top-level members of an accepted record: one JSON object, perhaps with whitespace around it.
 * Members with a name of `ignored`, however escaped, are left out of the runs.
 */
export function scanRecord(record: Buffer, ignored: readonly string[]): RecordScan {
  const runs: number[] = [];
  let doubts = 0;
  let isOpen = false;
  let at = skipWhitespace(record, skipWhitespace(record, 0) + 1);
  while (record[at] === QUOTE) {
    // A member ends as an element does, at a comma of its own depth, or at the brace that closes the record.
    scanElement(record, at, Number.POSITIVE_INFINITY, member);
    doubts |= member.doubts;
    if (isIgnored(record, at, ignored)) {
      isOpen = false;
    } else {
      let end = member.end;
      while (isWhitespace(record[end - 1] as number)) end -= 1;
      if (isOpen) runs[runs.length - 1] = end;
      else runs.push(at, end);
      isOpen = true;
    }
    if (record[member.end] !== COMMA) break;
    at = skipWhitespace(record, member.end + 1);
  }
  return { runs, doubts };
}

/** Whether the name that starts at `start` is one of `ignored`. Only names of their lengths, or with escapes, are decoded. */
function isIgnored(record: Buffer, start: number, ignored: readonly string[]): boolean {
  let at = start + 1;
  let hasEscape = false;
  while (at < record.length && record[at] !== QUOTE) {
    if (record[at] === BACKSLASH) {
      hasEscape = true;
      at += 1;
    }
    at += 1;
  }
  if (hasEscape) return ignored.includes(JSON.parse(record.toString("utf8", start, at + 1)) as string);
  const bytes = at - start - 1;
  return ignored.some((name) => name.length === bytes && name === record.toString("latin1", start + 1, at));
}
