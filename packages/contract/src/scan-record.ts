import { isWhitespace, newElementScan, scanElement, skipWhitespace } from "./scan-element.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** What one pass over an accepted record's bytes finds. */
export interface RecordScan {
  /** Start and end of each unbroken run of top-level members that are content. */
  readonly runs: readonly number[];
  /** Start and end of the value of each sought member, in the order of `names`; 0, 0 where it is absent. */
  readonly values: readonly number[];
  /** HAS_UNICODE_ESCAPE, HAS_LONG_NUMBER of `scan-element.ts`. */
  readonly doubts: number;
}

const member = newElementScan();

/** The top-level members that a scan looks for: those that are content, and then those that are not. */
export class SoughtMembers {
  readonly names: readonly string[];
  readonly contentCount: number;
  readonly #bytes: readonly Buffer[];

  constructor(content: readonly string[], notContent: readonly string[]) {
    this.names = [...content, ...notContent];
    this.contentCount = content.length;
    this.#bytes = this.names.map((name) => Buffer.from(name));
  }

  /** Which of them has its name, however escaped, at `start`; -1 for none. Only names with escapes are decoded. */
  indexAt(record: Buffer, start: number): number {
    let at = start + 1;
    let hasEscape = false;
    while (at < record.length && record[at] !== QUOTE) {
      if (record[at] === BACKSLASH) {
        hasEscape = true;
        at += 1;
      }
      at += 1;
    }
    if (hasEscape) return this.names.indexOf(JSON.parse(record.toString("utf8", start, at + 1)) as string);
    const length = at - start - 1;
    return this.#bytes.findIndex((name) => name.length === length && isAt(name, record, start + 1));
  }
}

function isAt(name: Buffer, record: Buffer, start: number): boolean {
  for (let at = 0; at < name.length; at += 1) if (name[at] !== record[start + at]) return false;
  return true;
}

/** Goes over the top-level members of an accepted record: one JSON object, perhaps with whitespace around it. */
export function scanRecord(record: Buffer, sought: SoughtMembers): RecordScan {
  const runs: number[] = [];
  const values: number[] = new Array<number>(sought.names.length * 2).fill(0);
  let doubts = 0;
  let isOpen = false;
  let at = skipWhitespace(record, skipWhitespace(record, 0) + 1);
  while (record[at] === QUOTE) {
    // A member ends as an element does, at a comma of its own depth, or at the brace that closes the record.
    scanElement(record, at, Number.POSITIVE_INFINITY, member);
    doubts |= member.doubts;
    let end = member.end;
    while (isWhitespace(record[end - 1] as number)) end -= 1;
    const found = sought.indexAt(record, at);
    if (found >= 0) {
      values[found * 2] = valueStart(record, at);
      values[found * 2 + 1] = end;
    }
    if (found >= sought.contentCount) {
      isOpen = false;
    } else {
      if (isOpen) runs[runs.length - 1] = end;
      else runs.push(at, end);
      isOpen = true;
    }
    if (record[member.end] !== COMMA) break;
    at = skipWhitespace(record, member.end + 1);
  }
  return { runs, values, doubts };
}

/** Where the value of the member begins whose name begins at `start`. */
function valueStart(record: Buffer, start: number): number {
  let at = start + 1;
  while (record[at] !== QUOTE) at += record[at] === BACKSLASH ? 2 : 1;
  return skipWhitespace(record, skipWhitespace(record, at + 1) + 1);
}
