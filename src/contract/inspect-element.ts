import { isUnsafeLiteral } from "./decimal.ts";
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
 * Looks closely at one element, byte by byte: strict RFC 8259 syntax with the place of the first fault, and what
 * `JSON.parse` hides (repeated and forbidden names, numbers a double changes, unpaired surrogates, NUL).
 * About 20 times slower than the scan, so it runs only on elements that the scan or the parse doubts.
 * Recursion is bounded by the depth the scan allowed.
 */
export function inspectElement(
  body: Buffer,
  start: number,
  end: number,
  index: number,
  violationsMax: number,
): Inspection {
  const look = new CloseLook(body, start, end, index, violationsMax);
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
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const HEX_DIGITS = /^[0-9a-fA-F]{4}$/;

class CloseLook {
  readonly violations: Violation[] = [];
  total = 0;
  readonly #body: Buffer;
  readonly #end: number;
  readonly #violationsMax: number;
  readonly #path: (string | number)[];
  #at: number;

  constructor(body: Buffer, start: number, end: number, index: number, violationsMax: number) {
    this.#body = body;
    this.#at = start;
    this.#end = end;
    this.#path = [index];
    this.#violationsMax = violationsMax;
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
    const names = new Set<string>();
    this.#at += 1;
    this.#whitespace();
    if (this.#take(0x7d)) return;
    for (;;) {
      this.#whitespace();
      if (this.#peek() !== 0x22) this.#fail("a field name in double quotes");
      const name = this.#text("name");
      this.#path.push(name);
      if (names.has(name)) this.#report("name.duplicate", `${quoted(name)} occurs twice in one object`);
      names.add(name);
      if (isForbiddenName(name))
        this.#report("name.forbidden", `${quoted(name)} is not allowed as a field name`);
      this.#whitespace();
      if (!this.#take(0x3a)) this.#fail("':' after a field name");
      this.#value();
      this.#path.pop();
      this.#whitespace();
      if (this.#take(0x7d)) return;
      if (!this.#take(0x2c)) this.#fail("',' or '}' after a field's value");
    }
  }

  #array(): void {
    this.#at += 1;
    this.#whitespace();
    if (this.#take(0x5d)) return;
    for (let index = 0; ; index += 1) {
      this.#path.push(index);
      this.#value();
      this.#path.pop();
      this.#whitespace();
      if (this.#take(0x5d)) return;
      if (!this.#take(0x2c)) this.#fail("',' or ']' after an array's value");
    }
  }

  #number(): void {
    const from = this.#at;
    let to = from;
    while (to < this.#end && isNumberByte(this.#body[to] as number)) to += 1;
    const source = this.#body.toString("latin1", from, to);
    NUMBER.lastIndex = 0;
    const valid = NUMBER.test(source) ? NUMBER.lastIndex : 0;
    if (valid !== source.length) {
      this.#at = from + valid;
      this.#fail("a number as JSON writes it (no leading zero or plus, digits around the point)");
    }
    this.#at = to;
    if (isUnsafeLiteral(source)) {
      this.#report(
        "number.unsafe",
        `${this.#place()} is a number that JSON readers cannot keep exactly; got ${quoted(source)}`,
      );
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

  /** Reads the text at the position, checks it, and gives it back only where it is a name. */
  #text(what: "text" | "name"): string {
    const from = this.#at;
    let hasUnicodeEscape = false;
    let hasEscape = false;
    for (this.#at += 1; ; this.#at += 1) {
      const byte = this.#peek();
      if (byte === undefined) this.#fail("'\"' at the end of a text");
      if (byte === 0x22) break;
      if (byte < 0x20) this.#fail("an escape: control characters must be escaped in a text");
      if (byte !== 0x5c) continue;
      hasEscape = true;
      this.#at += 1;
      const escaped = this.#peek();
      if (escaped === 0x75) {
        hasUnicodeEscape = true;
        const hex = this.#body.toString("latin1", this.#at + 1, Math.min(this.#at + 5, this.#end));
        if (!HEX_DIGITS.test(hex)) this.#fail("four hexadecimal digits after \\u");
        this.#at += 4;
      } else if (escaped === undefined || !ESCAPED.has(escaped)) {
        this.#fail('one of "\\/bfnrtu after a backslash');
      }
    }
    this.#at += 1;
    if (what === "text" && !hasUnicodeEscape) return "";
    const text = hasEscape
      ? (JSON.parse(this.#body.toString("utf8", from, this.#at)) as string)
      : this.#body.toString("utf8", from + 1, this.#at - 1);
    const of = what === "name" ? "a field name" : this.#place();
    if (!text.isWellFormed()) this.#report("text.surrogate", `${of} has an unpaired surrogate`);
    if (text.includes("\0")) this.#report("text.nul", `${of} has the character NUL`);
    return text;
  }

  /** The innermost field's name, for messages. */
  #place(): string {
    const name = this.#path.findLast((step) => typeof step === "string");
    return typeof name === "string" ? quoted(name) : "the record";
  }

  #report(code: ViolationCode, message: string): void {
    this.total += 1;
    if (this.violations.length >= this.#violationsMax) return;
    this.violations.push({ pointer: pointerOf(this.#path), code, message });
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

function isNumberByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x65 ||
    byte === 0x45
  );
}
