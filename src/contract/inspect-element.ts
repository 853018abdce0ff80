import { ExactNumber, isUnsafeLiteral, needsExactNumber } from "./decimal.ts";
import { isWhitespace } from "./scan-element.ts";
import { pointerOf, quoted, type Violation, type ViolationCode } from "./violation.ts";

/** Field names that are ways into an object's prototype in JavaScript. No partner needs them. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Whether a field name is refused wherever it stands. */
export function isForbiddenName(name: string): boolean {
  return FORBIDDEN_NAMES.has(name);
}

/** Where JSON syntax ends: the byte offset in the body and what was expected there. Never the text itself. */
export interface SyntaxFault {
  readonly offset: number;
  readonly expected: string;
}

/** What to look for in an element, and what is known of it. */
export interface InspectionOrder {
  /** The element's place in the batch: the first step of every pointer. */
  readonly index: number;
  readonly violationsMax: number;
  /** The element as `JSON.parse` gave it. Numbers in it that need it are replaced by their ExactNumber. */
  readonly value?: unknown;
  /** No name is repeated or forbidden: the parsed members were counted. Names then need no decoding. */
  readonly namesAreSound?: boolean;
}

/** What the close look at one element found. At most `violationsMax` violations are kept; `total` counts all. */
export interface Inspection {
  readonly fault: SyntaxFault | undefined;
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

/**
 * Looks closely at one element (the body's bytes from `start` up to `end`): strict RFC 8259 syntax with the place of the
 * first fault, and what `JSON.parse` hides (repeated and forbidden names, numbers that a double changes, unpaired
 * surrogates, NUL). Several times slower than the scan, so it runs only on elements that the scan or the parse doubts.
 * Recursion is bounded by the depth that the scan allowed.
 */
export function inspectElement(body: Buffer, start: number, end: number, order: InspectionOrder): Inspection {
  const look = new CloseLook(body, start, end, order);
  let fault: SyntaxFault | undefined;
  try {
    look.element();
  } catch (error) {
    if (!(error instanceof SyntaxFaultError)) throw error;
    fault = error.fault;
  }
  return { fault, violations: look.violations, total: look.total };
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERALS = ["true", "false", "null"] as const;
const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;
const NUMBER_BYTE = new Uint8Array(256);
for (const byte of Buffer.from("-+.eE0123456789")) NUMBER_BYTE[byte] = 1;

class CloseLook {
  readonly violations: Violation[] = [];
  total = 0;
  readonly #body: Buffer;
  readonly #end: number;
  readonly #order: InspectionOrder;
  /** The steps to the current value; a name that nobody has asked for yet is undefined, and its text stands in #names. */
  readonly #path: (string | number | undefined)[];
  readonly #names: number[] = [0];
  #at: number;

  constructor(body: Buffer, start: number, end: number, order: InspectionOrder) {
    this.#body = body;
    this.#at = start;
    this.#end = end;
    this.#order = order;
    this.#path = [order.index];
  }

  element(): void {
    this.#value();
    this.#whitespace();
    if (this.#at < this.#end) this.#fail("',' or ']' after a record");
  }

  #value(): void {
    this.#whitespace();
    const byte = this.#peek();
    if (byte === 0x7b) this.#object();
    else if (byte === 0x5b) this.#array();
    else if (byte === 0x22) this.#text("text");
    else if (byte === 0x2d || (byte !== undefined && byte >= 0x30 && byte <= 0x39)) this.#number();
    else this.#literal();
  }

  #object(): void {
    const seen = this.#order.namesAreSound === true ? undefined : new Set<string>();
    this.#at += 1;
    this.#whitespace();
    if (this.#take(0x7d)) return;
    const depth = this.#path.length;
    for (;;) {
      this.#whitespace();
      if (this.#peek() !== 0x22) this.#fail("a field name in double quotes");
      this.#path[depth] = undefined;
      this.#names[depth] = this.#at;
      this.#text("name");
      if (seen !== undefined) this.#judgeName(seen);
      this.#whitespace();
      if (!this.#take(0x3a)) this.#fail("':' after a field name");
      this.#value();
      this.#whitespace();
      if (this.#take(0x7d)) break;
      if (!this.#take(0x2c)) this.#fail("',' or '}' after a field's value");
    }
    this.#path.length = depth;
  }

  #judgeName(seen: Set<string>): void {
    const name = this.#steps().at(-1) as string;
    if (seen.has(name)) this.#report("name.duplicate", () => `${quoted(name)} occurs twice in one object`);
    if (isForbiddenName(name)) {
      this.#report("name.forbidden", () => `${quoted(name)} is not allowed as a field name`);
    }
    seen.add(name);
  }

  #array(): void {
    this.#at += 1;
    this.#whitespace();
    if (this.#take(0x5d)) return;
    const depth = this.#path.length;
    for (let index = 0; ; index += 1) {
      this.#path[depth] = index;
      this.#value();
      this.#whitespace();
      if (this.#take(0x5d)) break;
      if (!this.#take(0x2c)) this.#fail("',' or ']' after an array's value");
    }
    this.#path.length = depth;
  }

  #number(): void {
    const from = this.#at;
    let to = from;
    while (to < this.#end && NUMBER_BYTE[this.#body[to] as number] === 1) to += 1;
    const source = this.#body.toString("latin1", from, to);
    // What was parsed already is JSON.
    if (this.#order.value === undefined) this.#checkNumber(source);
    this.#at = to;
    if (!needsExactNumber(source)) return;
    if (isUnsafeLiteral(source)) {
      const message = () =>
        `${this.#place()} is a number that JSON readers cannot keep exactly; a text is kept as sent; got ${quoted(source)}`;
      this.#report("number.unsafe", message);
    }
    this.#keepExactly(source);
  }

  #checkNumber(source: string): void {
    NUMBER.lastIndex = 0;
    const valid = NUMBER.test(source) ? NUMBER.lastIndex : 0;
    if (valid === source.length) return;
    this.#at += valid;
    this.#fail("a number as JSON writes it (no leading zero or plus, digits around the point)");
  }

  /** Puts the number's text in its place in the parsed value; where a repeated name hid it, there is no such place. */
  #keepExactly(source: string): void {
    const steps = this.#steps();
    let holder = this.#order.value;
    for (let depth = 1; depth < steps.length; depth += 1) {
      if (typeof holder !== "object" || holder === null) return;
      const of = holder as Record<string | number, unknown>;
      const step = steps[depth] as string | number;
      if (depth < steps.length - 1) holder = of[step];
      else if (typeof of[step] === "number") of[step] = new ExactNumber(source);
    }
  }

  #literal(): void {
    for (const literal of LITERALS) {
      const to = this.#at + literal.length;
      if (to <= this.#end && this.#body.toString("latin1", this.#at, to) === literal) {
        this.#at = to;
        return;
      }
    }
    this.#fail("a value: an object, array, text in double quotes, number, true, false or null");
  }

  /** Goes over the text at the position. Raw UTF-8 has no surrogates and no text has a raw NUL, so only escapes can. */
  #text(what: "text" | "name"): void {
    let isUnpaired = false;
    let isHighOpen = false;
    let hasNul = false;
    for (this.#at += 1; ; this.#at += 1) {
      const byte = this.#peek();
      if (byte === undefined) this.#fail("'\"' at the end of a text");
      if (byte === 0x22) break;
      if (byte < 0x20) this.#fail("an escape: control characters must be escaped in a text");
      const unit = byte === 0x5c ? this.#escape() : -1;
      const isLow = unit >= 0xdc00 && unit <= 0xdfff;
      if (isHighOpen !== isLow) isUnpaired = true;
      isHighOpen = unit >= 0xd800 && unit <= 0xdbff;
      if (unit === 0) hasNul = true;
    }
    this.#at += 1;
    if (isUnpaired || isHighOpen) this.#reportText("text.surrogate", what, "has an unpaired surrogate");
    if (hasNul) this.#reportText("text.nul", what, "has the character NUL");
  }

  /** Reads what follows a backslash up to its last byte: the code unit of a `\u` escape, -1 for any other. */
  #escape(): number {
    this.#at += 1;
    const byte = this.#peek();
    if (byte !== 0x75) {
      if (byte === undefined || ESCAPED[byte] !== 1) this.#fail('one of "\\/bfnrtu after a backslash');
      return -1;
    }
    let unit = 0;
    for (let digit = 1; digit <= 4; digit += 1) {
      const value = this.#at + digit < this.#end ? hexValue(this.#body[this.#at + digit] as number) : -1;
      if (value === -1) this.#fail("four hexadecimal digits after \\u");
      unit = unit * 16 + value;
    }
    this.#at += 4;
    return unit;
  }

  #reportText(code: ViolationCode, what: "text" | "name", message: string): void {
    this.#report(code, () => `${what === "name" ? "a field name" : this.#place()} ${message}`);
  }

  /** The path with all its names. */
  #steps(): (string | number)[] {
    for (let depth = 0; depth < this.#path.length; depth += 1) {
      this.#path[depth] ??= nameAt(this.#body, this.#names[depth] as number);
    }
    return this.#path as (string | number)[];
  }

  /** The innermost field's name, for messages. */
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

  #take(byte: number): boolean {
    if (this.#peek() !== byte) return false;
    this.#at += 1;
    return true;
  }

  #whitespace(): void {
    while (this.#at < this.#end && isWhitespace(this.#body[this.#at] as number)) this.#at += 1;
  }

  #fail(expected: string): never {
    throw new SyntaxFaultError(Math.min(this.#at, this.#end), expected);
  }
}

/** The name whose opening quote stands at `start`; it was gone over already, so it ends. */
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

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
