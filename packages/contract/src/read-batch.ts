import { isAscii, isUtf8 } from "node:buffer";
import {
  ALL_NAMES,
  ElementInspector,
  type Inspection,
  inspectElement,
  isForbiddenName,
  type SyntaxFault,
} from "./inspect-element.ts";
import { NOTED, SOUGHT } from "./record-plan.ts";
import type { Resource } from "./resource.ts";
import type { FieldSchema } from "./schema/field.ts";
import { FIELD_NAMES, RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { NO_VIOLATIONS, type Violation, type ViolationCode } from "./violation.ts";
import { newRecordWalk, type RecordWalk, type WalkLimits, walkRecord } from "./walk-record.ts";
import {
  isShortNumber,
  isWhitespace,
  SHORT_NUMBER_CHARACTERS_MAX,
  skipValue,
  skipWhitespace,
  UNSURE,
} from "./walk-value.ts";

/** One element of a batch. */
export interface BatchRecord {
  /** Position in the batch, from 0. */
  readonly index: number;
  /** Byte range `[start, end)` in the body, without surrounding whitespace. */
  readonly start: number;
  readonly end: number;
  /**
   * As from `JSON.parse`, with ExactNumber for numbers that a double may not hold exactly. A walked record is parsed on each access.
   * A large record has only members that the contract names.
   */
  readonly value: unknown;
  /** Number of JSON values, including the record itself. */
  readonly values: number;
  /** The resource for which the record is known to be valid; undefined if not yet checked. */
  readonly validAs: Resource | undefined;
  /** Undefined unless the code is a non-empty string that occurs once, without NUL or unpaired surrogates. */
  readonly clientCode: string | undefined;
  readonly propertyCode: string | undefined;
  /** For a walked record: the position of the source time in the body. Avoids parsing `value`. */
  readonly sourceTimeAt: number | undefined;
  /**
   * Violations of text that parses: repeated or forbidden names, unsafe numbers, unpaired surrogates, NUL. At most 100 per batch, then
   * one per record; `lexicalTotal` counts all of this record.
   */
  readonly lexical: readonly Violation[];
  readonly lexicalTotal: number;
}

export interface BatchLimits {
  readonly recordsMax: number;
  /** Maximum nesting; the array of the batch is 1. */
  readonly depthMax: number;
  /** Whether null in an optional field is valid. */
  readonly nullsAbsent?: boolean;
}

/** A body that is not a batch. The codes are those of the error registry. */
export interface BatchRefusal {
  readonly ok: false;
  readonly code:
    | "bellhop.contract.MalformedJson"
    | "bellhop.contract.NotAnArray"
    | "bellhop.contract.EmptyBatch"
    | "bellhop.contract.TooManyRecords";
  readonly message: string;
  readonly violations: readonly Violation[];
}

export type BatchReading = { readonly ok: true; readonly records: readonly BatchRecord[] } | BatchRefusal;

// Bounds the memory of a hostile batch.
const LEXICAL_KEPT_MAX = 100;

// Bounds the cost of one record. A group of 365 dates, 30 room types and 20 fields has 220,000 values in 5 MB.
export const RECORD_BYTES_MAX = 8_388_608;
const VALUES_PER_RECORD_MAX = 250_000;
// Bounds time that bytes do not: 64 MiB of `{},` take 13 s to parse. A full body of records has 3,300,000.
const VALUES_PER_BATCH_MAX = 4_000_000;

// A larger body is not parsed to distinguish "not JSON" from "not an array".
const SMALL_BODY_BYTES = 65_536;

// Finding the faulty byte of a larger record would block the event loop.
const FAULT_SOUGHT_BYTES = 1_048_576;

// Length of `false` or an escape that the end of the body truncates.
const CUT_BYTES_MAX = 7;

// Bytes walked or scanned per turn, about 1 ms on a slow core. A parsed byte counts as several.
const TURN_BYTES = 131_072;
const PARSED_BYTE_COUNTS = 8;

// A larger record would block the event loop if walked or parsed at once.
const WALKED_BYTES_MAX = 4_194_304;
const PARSED_BYTES_MAX = 65_536;
const PARSED_VALUES_MAX = 1_024;

/**
 * Reads a body as a batch: a JSON array (RFC 8259, UTF-8 without a byte order mark) of at least one element. Nothing is coerced; an
 * element that is not an object is refused later by `checkRecord`. With a `resource`, most valid records are recognised without
 * parsing (`walkRecord`).
 *
 * @example
 * const reading = readBatch(Buffer.from('[{"clientCode":"C1"}]'), { recordsMax: 10_000, depthMax: 16 });
 * if (reading.ok) for (const record of reading.records) checkRecord("groups", record, 100);
 */
export function readBatch(body: Buffer, limits: BatchLimits, resource?: Resource): BatchReading {
  const records: BatchRecord[] = [];
  const run = new BatchRun(body, limits, resource, (record) => records.push(record));
  while (!run.turn(Number.POSITIVE_INFINITY)) {}
  return run.refusal ?? { ok: true, records };
}

/**
 * As `readBatch`, but yields to the event loop after every 128 KiB and visits each record once, in order. A refusal may follow visited
 * records; undefined means that the body is a batch. Synchronous if one turn was enough.
 */
export function readBatchInTurns(
  body: Buffer,
  limits: BatchLimits,
  resource: Resource | undefined,
  visit: (record: BatchRecord) => void,
): BatchRefusal | undefined | Promise<BatchRefusal | undefined> {
  const run = new BatchRun(body, limits, resource, visit);
  return run.turn(TURN_BYTES) ? run.refusal : finishInTurns(run);
}

async function finishInTurns(run: BatchRun): Promise<BatchRefusal | undefined> {
  do await new Promise((resume) => setImmediate(resume));
  while (!run.turn(TURN_BYTES));
  return run.refusal;
}

/** An element that was not walked, as scanned. */
interface ScannedElement extends Pick<ElementScan, "members" | "doubts" | "values"> {
  readonly start: number;
  readonly end: number;
}

/** Cost of visiting a walked record, in bytes of a turn. */
const WALKED_TURN_BYTES = 256;

/** After this many undecided records in a row the walk is no longer tried. */
const WALK_MISSES_MAX = 8;

/** Length of `2026-01-02T03:04:05`. */
const SECOND_CHARACTERS = 19;
const MINUTE_CHARACTERS = 16;

/** A record recognised as valid without parsing. */
class WalkedRecord implements BatchRecord {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly values: number;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly validAs: Resource;
  readonly sourceTimeAt: number;
  readonly lexical = NO_VIOLATIONS;
  readonly lexicalTotal = 0;
  readonly #body: Buffer;

  constructor(body: Buffer, index: number, start: number, walk: RecordWalk, validAs: Resource) {
    this.#body = body;
    this.index = index;
    this.start = start;
    this.end = walk.end;
    this.values = walk.values;
    this.clientCode = walk.clientCode;
    this.propertyCode = walk.propertyCode;
    this.validAs = validAs;
    this.sourceTimeAt = walk.sourceTimeAt;
  }

  get value(): unknown {
    const order = { index: this.index, violationsMax: 0, keeps: ALL_NAMES, namesAreSound: true };
    return inspectElement(this.#body, this.start, this.end, order).value;
  }
}

class BatchRun {
  readonly #body: Buffer;
  readonly #view: DataView;
  readonly #limits: BatchLimits;
  readonly #elements: (WalkedRecord | ScannedElement)[] = [];
  readonly #scan: ElementScan = newElementScan();
  readonly #resource: Resource | undefined;
  readonly #walk: RecordWalk = newRecordWalk();
  readonly #walkLimits: WalkLimits;
  readonly #schema: FieldSchema | undefined;
  readonly #visit: (record: BatchRecord) => void;
  readonly #ascii: boolean;
  #at = 0;
  #visited = 0;
  #values = 0;
  #scanned = false;
  #lexicalKept = 0;
  /** The record inspected over several turns. */
  #inspector: ElementInspector | undefined;
  #walkMisses = 0;
  #refusal: BatchRefusal | undefined;

  constructor(
    body: Buffer,
    limits: BatchLimits,
    resource: Resource | undefined,
    visit: (record: BatchRecord) => void,
  ) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.length);
    this.#limits = limits;
    this.#resource = resource;
    this.#schema = resource === undefined ? undefined : RECORD_SCHEMAS[resource];
    this.#walkLimits = {
      bytesMax: WALKED_BYTES_MAX,
      depthMax: limits.depthMax,
      nullsAbsent: limits.nullsAbsent === true,
    };
    this.#visit = visit;
    this.#ascii = isAscii(body);
    this.#refusal = this.#open();
  }

  /** Processes about `bytes` bytes; true when done. Finds all elements before parsing the first, so that refusing is cheap. */
  turn(bytes: number): boolean {
    let left = bytes;
    while (left > 0 && this.#refusal === undefined) {
      if (!this.#scanned) {
        left -= this.#findElement(left);
      } else if (this.#visited < this.#elements.length) {
        left -= this.#readElement(left);
      } else {
        return true;
      }
    }
    return this.#refusal !== undefined;
  }

  get refusal(): BatchRefusal | undefined {
    return this.#refusal;
  }

  #open(): BatchRefusal | undefined {
    const body = this.#body;
    if (!this.#ascii && !isUtf8(body)) {
      if (body[0] === 0x1f && body[1] === 0x8b)
        return malformed(0, "the body begins with the gzip signature; send it with Content-Encoding: gzip");
      const at = firstInvalidUtf8(body);
      const isCut = (body[at] as number) >= 0xc2 && at + sequenceBytes(body[at] as number) > body.length;
      return isCut ? cutOff(at, "inside a UTF-8 character") : malformed(at, "the text is not UTF-8");
    }
    if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
      return malformed(0, "there is a byte order mark; send UTF-8 without one");
    }
    // JSON begins with two ASCII characters, so a NUL there is half of a wider one (RFC 4627, section 3).
    if (body[0] === 0 || body[1] === 0) return malformed(0, "the text is UTF-16 or UTF-32; send UTF-8");
    const at = skipWhitespace(body, 0);
    if (at === body.length) return malformed(at, "the body is empty; send a JSON array of records");
    if (body[at] !== 0x5b) return this.#notAnArray(at);
    this.#at = skipWhitespace(body, at + 1);
    if (body[this.#at] !== 0x5d) return undefined;
    return (
      this.#close() ?? refusal("bellhop.contract.EmptyBatch", "The batch is empty: send at least one record.")
    );
  }

  #notAnArray(at: number): BatchRefusal {
    const body = this.#body;
    if (body.length <= SMALL_BODY_BYTES) {
      // The scan bounds the depth; neither it nor the inspection reads beyond a complete value.
      scanElement(body, at, this.#limits.depthMax, this.#scan);
      if (this.#scan.outcome !== "too-deep" && !this.#beginsRecords(at)) {
        const { fault } = inspectElement(body, at, body.length, { index: 0, violationsMax: 0 });
        if (fault !== undefined) {
          const isOpen = this.#scan.depth > 1 || this.#scan.isInText;
          return isOpen && this.#isCutOff(fault)
            ? cutOff(body.length, "inside a value that is not an array")
            : malformed(fault.offset, `expected ${fault.expected}`);
        }
      }
    }
    return refusal(
      "bellhop.contract.NotAnArray",
      "The body must be a JSON array of records, even for a single record.",
    );
  }

  /** Whether two objects follow each other at `at`, as in newline-delimited JSON. */
  #beginsRecords(at: number): boolean {
    const body = this.#body;
    const end = body[at] === OPEN_OBJECT ? skipValue(body, at) : UNSURE;
    if (end === UNSURE) return false;
    let next = skipWhitespace(body, end);
    if (body[next] === COMMA) next = skipWhitespace(body, next + 1);
    if (body[next] !== OPEN_OBJECT) return false;
    return inspectElement(body, at, end, { index: 0, violationsMax: 0 }).fault === undefined;
  }

  /** Finds one element, or continues with it for about `bytes` bytes. Returns the bytes read. */
  #findElement(bytes: number): number {
    const scan = this.#scan;
    const start = this.#at;
    const isResumed = scan.outcome === "paused";
    const from = isResumed ? scan.end : start;
    const walked = isResumed ? undefined : this.#walkElement(start);
    if (walked === undefined)
      scanElement(this.#body, start, this.#limits.depthMax, scan, RECORD_BYTES_MAX, bytes);
    if (scan.outcome !== "paused") this.#refusal = this.#endElement(walked);
    return Math.max(scan.end, this.#at) - from;
  }

  #endElement(walked: WalkedRecord | undefined): BatchRefusal | undefined {
    const body = this.#body;
    const scan = this.#scan;
    const index = this.#elements.length;
    const { recordsMax, depthMax } = this.#limits;
    if (index === recordsMax) {
      return refusal(
        "bellhop.contract.TooManyRecords",
        `The batch has more than ${recordsMax} records; send it in parts.`,
      );
    }
    const start = this.#at;
    if (scan.outcome === "too-long") return tooManyBytes(start, index);
    if (scan.outcome === "too-deep") {
      return malformed(
        scan.end,
        `arrays and objects are nested deeper than ${depthMax}, the batch counted`,
        index,
        "json.depth",
      );
    }
    if (scan.outcome !== "element") return this.#faultIn(start, Math.min(scan.end, body.length), index);
    this.#values += scan.values;
    if (scan.values > VALUES_PER_RECORD_MAX || this.#values > VALUES_PER_BATCH_MAX) {
      return tooManyValues(start, index, scan.values > VALUES_PER_RECORD_MAX);
    }
    let end = scan.end;
    while (end > start && isWhitespace(body[end - 1] as number)) end -= 1;
    if (end === start) return malformed(scan.end, "expected a record", index);
    const { members, doubts, values } = scan;
    this.#elements.push(walked ?? { start, end, members, doubts, values });
    if (body[scan.end] === 0x5d) {
      this.#at = scan.end;
      this.#scanned = true;
      return this.#close();
    }
    this.#at = skipWhitespace(body, scan.end + 1);
    return undefined;
  }

  /** Walks the element at `start`. Fills the scan if it is a valid record. */
  #walkElement(start: number): WalkedRecord | undefined {
    if (this.#resource === undefined || this.#walkMisses === WALK_MISSES_MAX) return undefined;
    const body = this.#body;
    const walk = this.#walk;
    const isValid = walkRecord(this.#resource, body, this.#view, start, this.#walkLimits, walk);
    const end = isValid ? skipWhitespace(body, walk.end) : -1;
    const isElement = body[end] === 0x2c || body[end] === 0x5d;
    if (!isElement) {
      this.#walkMisses += 1;
      return undefined;
    }
    this.#walkMisses = 0;
    const scan = this.#scan;
    scan.outcome = "element";
    scan.end = end;
    scan.values = walk.values;
    return new WalkedRecord(body, this.#elements.length, start, walk, this.#resource);
  }

  /** Checks that only whitespace follows the array's `]` at the current position. */
  #close(): BatchRefusal | undefined {
    const at = skipWhitespace(this.#body, this.#at + 1);
    return at === this.#body.length
      ? undefined
      : malformed(at, "expected the end of the body after the array's ']'");
  }

  #faultIn(start: number, end: number, index: number): BatchRefusal {
    if (start === this.#body.length) return cutOff(end, `before record ${index}`, index);
    if (end - start > FAULT_SOUGHT_BYTES) {
      return this.#scan.outcome === "unterminated"
        ? cutOff(end, `inside record ${index}, which begins at byte ${start}`, index)
        : malformed(start, "the record that begins here is not JSON", index);
    }
    const { fault } = inspectElement(this.#body, start, end, { index, violationsMax: 0 });
    if (this.#isCutOff(fault)) {
      const where = fault === undefined ? "after" : "inside";
      return cutOff(end, `${where} record ${index}`, index);
    }
    return this.#faultAt(fault ?? { offset: end, expected: "',' or ']' after a record" }, index);
  }

  #faultAt({ offset, expected }: SyntaxFault, index: number): BatchRefusal {
    return malformed(offset, `expected ${expected}`, index);
  }

  /** Whether an unterminated element is valid up to the end of the body, except for a truncated word or escape. */
  #isCutOff(fault: SyntaxFault | undefined): boolean {
    if (this.#scan.outcome !== "unterminated") return false;
    return fault === undefined || fault.offset > this.#body.length - CUT_BYTES_MAX;
  }

  /** Visits the next element, parsing it if needed, or continues its inspection for about `bytes` bytes. Returns the cost in bytes. */
  #readElement(bytes: number): number {
    const index = this.#visited;
    const element = this.#elements[index] as WalkedRecord | ScannedElement;
    if (element instanceof WalkedRecord) {
      this.#visited += 1;
      this.#visit(element);
      return WALKED_TURN_BYTES;
    }
    const { start, end, members, doubts, values } = element;
    if (end - start > PARSED_BYTES_MAX || values > PARSED_VALUES_MAX)
      return this.#inspectElement(index, start, end, values, bytes);
    this.#parseElement(index, start, end, members, doubts, values);
    return PARSED_BYTE_COUNTS * (end - start);
  }

  #parseElement(
    index: number,
    start: number,
    end: number,
    members: number,
    doubts: number,
    values: number,
  ): void {
    const text = this.#body.toString(this.#ascii ? "latin1" : "utf8", start, end);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#refusal = this.#faultIn(start, end, index);
      return;
    }
    const namesAreSound = countMembers(value) === members;
    if (namesAreSound && !isSuspicious(text, doubts)) {
      this.#visitParsed({ index, start, end, values, value, lexical: NO_VIOLATIONS, lexicalTotal: 0 });
      return;
    }
    const [violationsMax, schema] = [this.#violationsMax(), this.#schema];
    const order = { index, violationsMax, keeps: ALL_NAMES, schema, namesAreSound };
    this.#visitInspected(inspectElement(this.#body, start, end, order), { index, start, end, values });
  }

  /** Continues the inspection of a large element, and visits it at the end. Returns the cost in bytes. */
  #inspectElement(index: number, start: number, end: number, values: number, bytes: number): number {
    const keeps = this.#resource === undefined ? ALL_NAMES : FIELD_NAMES[this.#resource];
    this.#inspector ??= new ElementInspector(this.#body, start, end, {
      index,
      violationsMax: this.#violationsMax(),
      keeps,
      schema: this.#schema,
    });
    const inspector = this.#inspector;
    const from = inspector.at;
    if (inspector.run(Math.ceil(bytes / PARSED_BYTE_COUNTS))) {
      this.#inspector = undefined;
      if (inspector.fault === undefined) this.#visitInspected(inspector, { index, start, end, values });
      else this.#refusal = this.#faultAt(inspector.fault, index);
    }
    return PARSED_BYTE_COUNTS * (inspector.at - from);
  }

  #violationsMax(): number {
    return Math.max(1, LEXICAL_KEPT_MAX - this.#lexicalKept);
  }

  #visitInspected(
    { value, violations, total }: Inspection,
    of: Pick<BatchRecord, "index" | "start" | "end" | "values">,
  ): void {
    this.#lexicalKept += violations.length;
    this.#visitParsed({ ...of, value, lexical: violations, lexicalTotal: total });
  }

  #visitParsed(parsed: Omit<BatchRecord, "clientCode" | "propertyCode" | "validAs" | "sourceTimeAt">): void {
    this.#visited += 1;
    this.#visit({
      ...parsed,
      validAs: undefined,
      sourceTimeAt: undefined,
      clientCode: codeIn(parsed, "clientCode"),
      propertyCode: codeIn(parsed, "propertyCode"),
    });
  }
}

// Escapes of NUL and of any surrogate. Also matches pairs and escaped backslashes, which the inspection distinguishes.
const SUSPICIOUS_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

function isSuspicious(text: string, doubts: number): boolean {
  if ((doubts & HAS_LONG_NUMBER) !== 0) return true;
  return (doubts & HAS_UNICODE_ESCAPE) !== 0 && SUSPICIOUS_ESCAPE.test(text);
}

/** The number of members at all depths; NaN if a name is forbidden. Fewer than the scan counted: a name was repeated. */
function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      if (typeof value[at] === "object") members += countMembers(value[at]);
    }
    return members;
  }
  const object = value as Record<string, unknown>;
  for (const name in object) {
    if (isForbiddenName(name)) return Number.NaN;
    members += 1;
    const member = object[name];
    if (typeof member === "object") members += countMembers(member);
  }
  return members;
}

/** See `BatchRecord.clientCode`. */
function codeIn(
  record: Pick<BatchRecord, "index" | "value" | "lexical" | "lexicalTotal">,
  name: string,
): string | undefined {
  const { index, value, lexical, lexicalTotal } = record;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  const code = (value as Record<string, unknown>)[name];
  if (typeof code !== "string" || code === "") return undefined;
  // A violation of the code may be among those not kept.
  if (lexicalTotal > lexical.length) return undefined;
  return lexical.some(({ pointer }) => pointer === `/${index}/${name}`) ? undefined : code;
}

function tooManyBytes(start: number, index: number): BatchRefusal {
  return notJson(recordBeyond(start, index, `${grouped(RECORD_BYTES_MAX)} bytes`), index, "json.size");
}

function tooManyValues(start: number, index: number, inRecord: boolean): BatchRefusal {
  const most = `${grouped(inRecord ? VALUES_PER_RECORD_MAX : VALUES_PER_BATCH_MAX)} values`;
  const ofBatch = `The batch exceeds the limit of ${most} at record ${index} (byte ${start}). Split the batch.`;
  return notJson(inRecord ? recordBeyond(start, index, most) : ofBatch, index, "json.values");
}

function recordBeyond(start: number, index: number, most: string): string {
  return `Record ${index} (byte ${start}) exceeds the limit of ${most} for one record. Send fewer items in it.`;
}

function grouped(count: number): string {
  return count.toLocaleString("en");
}

function malformed(
  offset: number,
  clause: string,
  index?: number,
  code: ViolationCode = "json.syntax",
): BatchRefusal {
  const place = index === undefined ? `byte ${offset}` : `record ${index}, byte ${offset} of the body`;
  return notJson(`The body cannot be read as JSON: at ${place}, ${clause}.`, index, code);
}

/** The refusal of a truncated body, which is valid JSON up to its end. */
function cutOff(at: number, where: string, index?: number): BatchRefusal {
  return notJson(`The body is incomplete JSON: the body ends ${where}, at byte ${at}.`, index);
}

function notJson(message: string, index?: number, code: ViolationCode = "json.syntax"): BatchRefusal {
  const violations = index === undefined ? NO_VIOLATIONS : [{ pointer: `/${index}`, code, message }];
  return { ok: false, code: "bellhop.contract.MalformedJson", message, violations };
}

function refusal(code: BatchRefusal["code"], message: string): BatchRefusal {
  return { ok: false, code, message, violations: NO_VIOLATIONS };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_U = 0x75;

const NUMBER_START = 1;
const NUMBER_PART = 2;
const EXPONENT = 4;
const BYTE_CLASS = new Uint8Array(256);
for (const byte of Buffer.from("-0123456789")) BYTE_CLASS[byte] = NUMBER_START | NUMBER_PART;
for (const byte of Buffer.from("+.")) BYTE_CLASS[byte] = NUMBER_PART;
for (const byte of Buffer.from("eE")) BYTE_CLASS[byte] = NUMBER_PART | EXPONENT;

/** The element has `\u` escapes, perhaps of a surrogate or NUL. */
const HAS_UNICODE_ESCAPE = 1;
/** The element has a number that a double may not hold exactly. */
const HAS_LONG_NUMBER = 2;

/** The result of scanning one element. `end` is the position of its terminator, or where the scan stopped. */
interface ElementScan {
  outcome: "element" | "unterminated" | "too-deep" | "too-long" | "unbalanced" | "paused";
  end: number;
  /** Number of structural colons, which is the number of members if the element is JSON. */
  members: number;
  /** Number of values, including the element itself; one more for each empty array or object. */
  values: number;
  /** HAS_UNICODE_ESCAPE, HAS_LONG_NUMBER. */
  doubts: number;
  /** State of a paused scan. */
  depth: number;
  isInText: boolean;
}

/** A result for `scanElement`, reused for all elements of a batch. */
export function newElementScan(): ElementScan {
  return { outcome: "element", end: 0, members: 0, values: 0, doubts: 0, depth: 1, isInText: false };
}

/**
 * Finds the end of one element: the `,` or `]` at the depth of the batch's array (about 1 GB/s). Does not validate the JSON. Reads at
 * most `bytesMax + 1` bytes, and pauses after `pauseBytes` until the next call.
 */
export function scanElement(
  body: Uint8Array,
  start: number,
  depthMax: number,
  scan: ElementScan,
  bytesMax = Number.POSITIVE_INFINITY,
  pauseBytes = Number.POSITIVE_INFINITY,
): void {
  const isResumed = scan.outcome === "paused";
  const length = Math.min(body.length, start + bytesMax + 1);
  let depth = isResumed ? scan.depth : 1;
  let members = isResumed ? scan.members : 0;
  let values = isResumed ? scan.values : 1;
  let doubts = isResumed ? scan.doubts : 0;
  let at = isResumed ? scan.end : start;
  let isInText = isResumed && scan.isInText;
  const stop = Math.min(length, at + pauseBytes);
  scan.outcome = "unterminated";
  for (; at < stop; at += 1) {
    const byte = isInText ? QUOTE : (body[at] as number);
    if (byte === QUOTE) {
      if (!isInText) at += 1;
      isInText = true;
      for (; at < stop; at += 1) {
        const inner = body[at] as number;
        if (inner === QUOTE) {
          isInText = false;
          break;
        }
        if (inner === BACKSLASH) {
          at += 1;
          if (body[at] === LETTER_U) doubts |= HAS_UNICODE_ESCAPE;
        }
      }
      if (isInText) break;
    } else if (byte === COLON) {
      members += 1;
    } else if (byte === COMMA) {
      if (depth === 1) {
        scan.outcome = "element";
        break;
      }
      values += 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      // A container has one value more than commas. Colons cannot be used: `[[[]]]` has none.
      values += 1;
      depth += 1;
      if (depth > depthMax) {
        scan.outcome = "too-deep";
        break;
      }
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 1) {
        scan.outcome = byte === CLOSE_ARRAY ? "element" : "unbalanced";
        break;
      }
      depth -= 1;
    } else if ((BYTE_CLASS[byte] as number) & NUMBER_START) {
      const from = at;
      let seen = 0;
      while (at < length && BYTE_CLASS[body[at] as number] !== 0) {
        seen |= BYTE_CLASS[body[at] as number] as number;
        at += 1;
      }
      const isShort =
        (seen & EXPONENT) === 0 ? at - from <= SHORT_NUMBER_CHARACTERS_MAX : isShortNumber(body, from, at);
      if (!isShort) doubts |= HAS_LONG_NUMBER;
      at -= 1;
    }
  }
  if (scan.outcome === "unterminated" && at < length) scan.outcome = "paused";
  else if (scan.outcome === "unterminated" && length < body.length) scan.outcome = "too-long";
  scan.end = at;
  scan.members = members;
  scan.values = values;
  scan.doubts = doubts;
  scan.depth = depth;
  scan.isInText = isInText;
}

const UTF8_CHUNK_BYTES = 65_536;
const SEQUENCE_BYTES_MAX = 4;

/** The offset of the first invalid byte of a body known not to be UTF-8 (RFC 3629). */
function firstInvalidUtf8(body: Buffer): number {
  let from = 0;
  while (from < body.length) {
    const to = sequenceStart(body, Math.min(from + UTF8_CHUNK_BYTES, body.length));
    if (!isUtf8(body.subarray(from, to))) break;
    from = to;
  }
  for (let at = from; at < body.length; ) {
    const size = sequenceBytes(body[at] as number);
    if (!isUtf8(body.subarray(at, at + size)) || at + size > body.length) return at;
    at += size;
  }
  return from;
}

/** The last position at or before `limit` that does not split a UTF-8 sequence. */
function sequenceStart(body: Buffer, limit: number): number {
  let at = limit;
  for (let back = 1; back < SEQUENCE_BYTES_MAX && at < body.length; back += 1) {
    if (((body[at] as number) & 0xc0) !== 0x80) break;
    at -= 1;
  }
  return at;
}

function sequenceBytes(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

/** Whether the source time of a valid record of `body` is after `latest` (see `latestSourceTime`), to the second. */
export function isAhead(resource: Resource, record: BatchRecord, body: Buffer, latest: string): boolean {
  if (record.sourceTimeAt !== undefined) return isAfter(body, record.sourceTimeAt, latest);
  const field = NOTED[resource].sought?.[SOUGHT.sourceTime] as string;
  const time = (record.value as Record<string, string>)[field];
  if (time === undefined) return false;
  return isAfter(Buffer.from(time), 0, latest);
}

function isAfter(body: Buffer, at: number, latest: string): boolean {
  const characters = body[at + MINUTE_CHARACTERS] === COLON ? SECOND_CHARACTERS : MINUTE_CHARACTERS;
  for (let place = 0; place < characters; place += 1) {
    const difference = (body[at + place] as number) - latest.charCodeAt(place);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
