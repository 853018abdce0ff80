import { ExactNumber, isBeyondDouble, needsExactNumber } from "./decimal.ts";
import type { FieldSchema } from "./schema/field.ts";
import { pointerOf, quoted, type Violation, type ViolationCode } from "./violation.ts";
import {
  codeUnitAt,
  ESCAPED,
  isShortNumber,
  isWhitespace,
  standsAt,
  TextMemory,
  UNSURE,
} from "./walk-value.ts";

/** Names that reach an object's prototype in JavaScript. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Whether a name is refused at any depth. */
export function isForbiddenName(name: string): boolean {
  return FORBIDDEN_NAMES.has(name);
}

/** The byte offset of a syntax error and what was expected there. Never contains text of the body. */
export interface SyntaxFault {
  readonly offset: number;
  readonly expected: string;
}

export interface InspectionOrder {
  /** The first step of every pointer. */
  readonly index: number;
  readonly violationsMax: number;
  /** Names of the members to include in the value, at any depth; without it no value is built. */
  readonly keeps?: { has(name: string): boolean };
  /** Numbers of the fields that it names are not checked here, but by `checkRecord`. */
  readonly schema?: FieldSchema | undefined;
  /** Names are known not to be repeated or forbidden. */
  readonly namesAreSound?: boolean;
}

export const ALL_NAMES = { has: () => true };

/** The result of inspecting one element. At most `violationsMax` violations are kept; `total` counts all. */
export interface Inspection {
  readonly fault: SyntaxFault | undefined;
  /** As from `JSON.parse`, with ExactNumber where needed, and without members that are not kept. */
  readonly value: unknown;
  readonly violations: readonly Violation[];
  readonly total: number;
}

class SyntaxFaultError extends Error {
  readonly fault: SyntaxFault;

  constructor(offset: number, expected: string) {
    super(expected);
    this.fault = { offset, expected };
  }
}

/** Inspects the element at `[start, end)` in one call; see `ElementInspector`. */
export function inspectElement(body: Buffer, start: number, end: number, order: InspectionOrder): Inspection {
  const look = new ElementInspector(body, start, end, order);
  look.run(Number.POSITIVE_INFINITY);
  return look;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERALS: readonly (readonly [bytes: Buffer, value: boolean | null])[] = [
  [Buffer.from("true"), true],
  [Buffer.from("false"), false],
  [Buffer.from("null"), null],
];
const NUMBER_BYTE = new Uint8Array(256);
for (const byte of Buffer.from("-+.eE0123456789")) NUMBER_BYTE[byte] = 1;
/** 1 for bytes allowed unescaped in a string. */
const PLAIN = new Uint8Array(256).fill(1, 0x20);
PLAIN[0x22] = 0;
PLAIN[0x5c] = 0;

/** An object with more names uses a set to find repeated ones. */
const NAMES_COMPARED_MAX = 8;

/** States: what is expected next. */
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_NAME = 2;
const NAME = 3;
const AFTER_VALUE = 4;
const IN_NAME = 5;
const IN_TEXT = 6;
const COLON = 7;

type Holder = unknown[] | Record<string, unknown>;

/** An open array or object. */
interface Open {
  readonly isArray: boolean;
  /** The value being built, if it is kept. */
  readonly holder: Holder | undefined;
  readonly schema: FieldSchema | undefined;
  /** The index of its first name in the list of names, or the set of its names once there are many. */
  readonly namesFrom: number;
  names: Set<string> | undefined;
}

/**
 * Inspects one element: strict RFC 8259 syntax with the position of the first error, and violations that `JSON.parse` hides (repeated and
 * forbidden names, numbers that a double cannot hold, unpaired surrogates, NUL). Several times slower than scanning and parsing, so it is
 * used for suspicious elements, and for large ones because it can pause.
 */
export class ElementInspector implements Inspection {
  readonly violations: Violation[] = [];
  total = 0;
  fault: SyntaxFault | undefined;
  value: unknown;
  readonly #body: Buffer;
  readonly #end: number;
  readonly #order: InspectionOrder;
  /** The path to the current value. A name not decoded yet is undefined; its position is in #nameAt. */
  readonly #path: (string | number | undefined)[];
  readonly #nameAt: number[] = [0];
  readonly #open: Open[] = [];
  readonly #seen: string[] = [];
  readonly #texts = new TextMemory();
  #at: number;
  #pauseAt = 0;
  #next = VALUE;
  #isKept: boolean;
  /** The name of the next member, if it is kept. */
  #name = "";
  /** State of the current string. */
  #textFrom = 0;
  #hasEscape = false;
  #isUnpaired = false;
  #isHighOpen = false;
  #hasNul = false;

  constructor(body: Buffer, start: number, end: number, order: InspectionOrder) {
    this.#body = body;
    this.#at = start;
    this.#end = end;
    this.#order = order;
    this.#path = [order.index];
    this.#isKept = order.keeps !== undefined;
  }

  get at(): number {
    return this.#at;
  }

  /** Reads about `bytes` more bytes; true when the element is complete or invalid. */
  run(bytes: number): boolean {
    this.#pauseAt = Math.min(this.#end, this.#at + bytes);
    try {
      do this.#step();
      while (this.#at < this.#pauseAt);
      if (this.#at < this.#end) return false;
      // At the end of the bytes, the next step reports what is missing.
      while (this.#next !== AFTER_VALUE || this.#open.length > 0) this.#step();
    } catch (error) {
      if (!(error instanceof SyntaxFaultError)) throw error;
      this.fault = error.fault;
    }
    return true;
  }

  #step(): void {
    if (this.#next === IN_NAME || this.#next === IN_TEXT) {
      this.#text();
      return;
    }
    while (this.#at < this.#pauseAt && isWhitespace(this.#body[this.#at] as number)) this.#at += 1;
    if (this.#at === this.#pauseAt && this.#at < this.#end) return;
    const byte = this.#peek();
    switch (this.#next) {
      case FIRST_ITEM:
        if (byte === 0x5d) this.#close();
        else this.#value(byte);
        return;
      case FIRST_NAME:
        if (byte === 0x7d) this.#close();
        else this.#beginName(byte);
        return;
      case NAME:
        this.#beginName(byte);
        return;
      case COLON:
        if (byte !== 0x3a) this.#fail("':' after a field name");
        this.#at += 1;
        this.#next = VALUE;
        return;
      case AFTER_VALUE:
        this.#afterValue(byte);
        return;
      default:
        this.#value(byte);
    }
  }

  #value(byte: number | undefined): void {
    if (byte === 0x22) this.#beginText(IN_TEXT);
    else if (byte === 0x7b || byte === 0x5b) this.#openHolder(byte === 0x5b);
    else if (byte === 0x2d || (byte !== undefined && byte >= 0x30 && byte <= 0x39)) this.#number();
    else this.#literal();
  }

  #openHolder(isArray: boolean): void {
    const holder: Holder | undefined = this.#isKept ? (isArray ? [] : {}) : undefined;
    const schema = this.#schema();
    if (holder !== undefined) this.#keep(holder);
    this.#open.push({ isArray, holder, schema, namesFrom: this.#seen.length, names: undefined });
    this.#at += 1;
    this.#next = isArray ? FIRST_ITEM : FIRST_NAME;
    if (isArray) this.#path.push(0);
    else this.#path.push(undefined);
  }

  #close(): void {
    this.#seen.length = this.#open.pop()?.namesFrom ?? 0;
    this.#path.pop();
    this.#at += 1;
    this.#next = AFTER_VALUE;
  }

  #afterValue(byte: number | undefined): void {
    const open = this.#open.at(-1);
    if (open === undefined) {
      if (byte === undefined) return;
      this.#fail("',' or ']' after a record");
    }
    if (byte === (open.isArray ? 0x5d : 0x7d)) {
      this.#close();
      return;
    }
    if (byte !== 0x2c)
      this.#fail(open.isArray ? "',' or ']' after an array's value" : "',' or '}' after a field's value");
    this.#at += 1;
    if (!open.isArray) {
      this.#next = NAME;
      return;
    }
    this.#next = VALUE;
    this.#isKept = open.holder !== undefined;
    this.#path[this.#path.length - 1] = (this.#path.at(-1) as number) + 1;
  }

  /** The schema of the next value. */
  #schema(): FieldSchema | undefined {
    const open = this.#open.at(-1);
    if (open === undefined) return this.#order.schema;
    if (!this.#isKept || open.schema === undefined) return undefined;
    if (open.isArray) return open.schema.items;
    const { properties = {} } = open.schema;
    return Object.hasOwn(properties, this.#name) ? properties[this.#name] : undefined;
  }

  #keep(value: unknown): void {
    const holder = this.#open.at(-1)?.holder;
    if (holder === undefined) this.value = value;
    else if (Array.isArray(holder)) holder.push(value);
    else holder[this.#name] = value;
  }

  #beginName(byte: number | undefined): void {
    if (byte !== 0x22) this.#fail("a field name in double quotes");
    this.#path[this.#path.length - 1] = undefined;
    this.#nameAt[this.#path.length - 1] = this.#at;
    this.#beginText(IN_NAME);
  }

  #endName(from: number): void {
    const open = this.#open.at(-1) as Open;
    const isSound = this.#order.namesAreSound === true;
    this.#isKept = false;
    if (!isSound || open.holder !== undefined) {
      const name = this.#hasEscape
        ? nameAt(this.#body, from)
        : this.#texts.textAt(this.#body, from + 1, this.#at - 1);
      if (!isSound) this.#judgeName(open, name);
      // Assigning to __proto__ would set the prototype.
      this.#isKept =
        open.holder !== undefined && name !== "__proto__" && this.#order.keeps?.has(name) === true;
      this.#name = name;
    }
    this.#next = COLON;
  }

  #judgeName(open: Open, name: string): void {
    const isRepeated = open.names?.has(name) ?? this.#seen.includes(name, open.namesFrom);
    if (isRepeated) this.#report("name.duplicate", () => `${quoted(name)} occurs twice in one object`);
    if (isForbiddenName(name)) {
      this.#report("name.forbidden", () => `${quoted(name)} is not allowed as a field name`);
    }
    if (isRepeated) return;
    if (open.names !== undefined) open.names.add(name);
    else {
      this.#seen.push(name);
      if (this.#seen.length - open.namesFrom > NAMES_COMPARED_MAX)
        open.names = new Set(this.#seen.slice(open.namesFrom));
    }
  }

  #number(): void {
    const body = this.#body;
    const from = this.#at;
    let to = from;
    while (to < this.#end && NUMBER_BYTE[body[to] as number] === 1) to += 1;
    if (!isNumber(body, from, to)) this.#failInNumber(from, to);
    this.#at = to;
    this.#next = AFTER_VALUE;
    const isShort = isShortNumber(body, from, to);
    if (isShort && !this.#isKept) return;
    const source = body.toString("latin1", from, to);
    // An unsafe number needs its text in any case.
    if (isShort || (this.#isKept && !needsExactNumber(source))) {
      this.#keep(Number(source));
      return;
    }
    if (isBeyondDouble(source) && this.#schema() === undefined) {
      const message = () =>
        `${this.#place()} is a number outside the range of a double: send a string, which is kept verbatim; got ${quoted(source)}`;
      this.#report("number.unsafe", message);
    }
    if (this.#isKept) this.#keep(new ExactNumber(source));
  }

  #failInNumber(from: number, to: number): never {
    NUMBER.lastIndex = 0;
    this.#at = from + (NUMBER.test(this.#body.toString("latin1", from, to)) ? NUMBER.lastIndex : 0);
    this.#fail("a number as JSON writes it (no leading zero or plus, digits around the point)");
  }

  #literal(): void {
    for (const [bytes, value] of LITERALS) {
      if (this.#body[this.#at] !== bytes[0] || this.#at + bytes.length > this.#end) continue;
      if (!standsAt(this.#body, this.#at, bytes)) continue;
      this.#at += bytes.length;
      this.#next = AFTER_VALUE;
      if (this.#isKept) this.#keep(value);
      return;
    }
    this.#fail("a value: an object, array, string in double quotes, number, true, false or null");
  }

  #beginText(next: typeof IN_NAME | typeof IN_TEXT): void {
    this.#next = next;
    this.#textFrom = this.#at;
    this.#hasEscape = false;
    this.#isUnpaired = false;
    this.#isHighOpen = false;
    this.#hasNul = false;
    this.#at += 1;
    this.#text();
  }

  /** Continues a string. Raw UTF-8 cannot contain surrogates or (in JSON) NUL, so only escapes are checked. */
  #text(): void {
    const body = this.#body;
    for (;;) {
      const from = this.#at;
      let at = from;
      while (at < this.#pauseAt && PLAIN[body[at] as number] === 1) at += 1;
      this.#at = at;
      if (this.#isHighOpen && at > from) {
        this.#isUnpaired = true;
        this.#isHighOpen = false;
      }
      if (at >= this.#pauseAt && at < this.#end) return;
      const byte = this.#peek();
      if (byte === 0x22) break;
      if (byte === undefined) this.#fail("'\"' at the end of a string");
      if (byte !== 0x5c) this.#fail("an escape: control characters must be escaped in a string");
      const unit = this.#escape();
      const isLow = unit >= 0xdc00 && unit <= 0xdfff;
      if (this.#isHighOpen !== isLow) this.#isUnpaired = true;
      this.#isHighOpen = unit >= 0xd800 && unit <= 0xdbff;
      this.#hasEscape = true;
      if (unit === 0) this.#hasNul = true;
      this.#at += 1;
    }
    this.#at += 1;
    this.#endText();
  }

  #endText(): void {
    const isName = this.#next === IN_NAME;
    const from = this.#textFrom;
    if (this.#isUnpaired || this.#isHighOpen)
      this.#reportText("text.surrogate", isName, "has an unpaired surrogate");
    if (this.#hasNul) this.#reportText("text.nul", isName, "has the character NUL");
    if (isName) {
      this.#endName(from);
      return;
    }
    this.#next = AFTER_VALUE;
    if (!this.#isKept) return;
    const body = this.#body;
    this.#keep(
      this.#hasEscape
        ? JSON.parse(body.toString("utf8", from, this.#at))
        : this.#texts.textAt(body, from + 1, this.#at - 1),
    );
  }

  /** Reads an escape after its backslash. Returns the code unit of a `\u` escape, -1 for any other. */
  #escape(): number {
    this.#at += 1;
    const byte = this.#peek();
    if (byte !== 0x75) {
      if (byte === undefined || ESCAPED[byte] !== 1) this.#fail('one of "\\/bfnrtu after a backslash');
      return -1;
    }
    const unit = this.#at + 4 < this.#end ? codeUnitAt(this.#body, this.#at + 1) : UNSURE;
    if (unit === UNSURE) this.#fail("four hexadecimal digits after \\u");
    this.#at += 4;
    return unit;
  }

  #reportText(code: ViolationCode, isName: boolean, message: string): void {
    this.#report(code, () => `${isName ? "a field name" : this.#place()} ${message}`);
  }

  #steps(): (string | number)[] {
    for (let depth = 0; depth < this.#path.length; depth += 1) {
      this.#path[depth] ??= nameAt(this.#body, this.#nameAt[depth] as number);
    }
    return this.#path as (string | number)[];
  }

  #place(): string {
    const name = this.#steps().findLast((step) => typeof step === "string");
    return typeof name === "string" ? quoted(name) : "the record";
  }

  #report(code: ViolationCode, message: () => string): void {
    this.total += 1;
    if (this.violations.length >= this.#order.violationsMax) return;
    this.violations.push({ pointer: pointerOf(this.#steps()), code, message: message() });
  }

  #peek(): number | undefined {
    return this.#at < this.#end ? this.#body[this.#at] : undefined;
  }

  #fail(expected: string): never {
    throw new SyntaxFaultError(Math.min(this.#at, this.#end), expected);
  }
}

/** Whether the bytes are a number (RFC 8259, section 6). */
function isNumber(body: Uint8Array, from: number, to: number): boolean {
  let at = body[from] === 0x2d ? from + 1 : from;
  const whole = at;
  at = skipDigits(body, at, to);
  if (at === whole || (body[whole] === 0x30 && at > whole + 1)) return false;
  if (at < to && body[at] === 0x2e) {
    const fraction = at + 1;
    at = skipDigits(body, fraction, to);
    if (at === fraction) return false;
  }
  if (at < to && ((body[at] as number) | 0x20) === 0x65) {
    at += 1;
    if (at < to && (body[at] === 0x2b || body[at] === 0x2d)) at += 1;
    const exponent = at;
    at = skipDigits(body, exponent, to);
    if (at === exponent) return false;
  }
  return at === to;
}

function skipDigits(body: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && (body[at] as number) >= 0x30 && (body[at] as number) <= 0x39) at += 1;
  return at;
}

/** Decodes the name whose opening quote is at `start`. It has been validated. */
function nameAt(body: Buffer, start: number): string {
  let at = start + 1;
  let hasEscape = false;
  for (; body[at] !== 0x22; at += 1) {
    if (body[at] !== 0x5c) continue;
    hasEscape = true;
    at += 1;
  }
  return hasEscape
    ? (JSON.parse(body.toString("utf8", start, at + 1)) as string)
    : body.toString("utf8", start + 1, at);
}
