import { skipWhitespace } from "./scan-element.ts";
import { skipValue } from "./skip-value.ts";
import { UNSURE } from "./walk-value.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * What becomes of a value. `keep`: it stays, byte by byte. A function is told the JSON of the value and answers what stands there
 * instead. Otherwise the value is gone into: an object by its members (those that are not named follow `others`), an array by
 * its items; a value that is neither stays.
 */
export type MemberRule =
  | "keep"
  | ((json: Buffer) => Buffer)
  | {
      readonly members?: ReadonlyMap<string, MemberRule>;
      readonly others?: "keep" | "drop";
      readonly items?: MemberRule;
    };

/** The text is JSON: whoever calls has accepted it. */
class NotJson extends Error {}

function ended(at: number): number {
  if (at === UNSURE) throw new NotJson("A record that was accepted is no JSON.");
  return at;
}

/** Collects the pieces of one value that is written anew. */
class Rewriting {
  readonly pieces: Buffer[] = [];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Writes the value at `at` by its rule; answers where it is over. */
  value(at: number, rule: MemberRule): number {
    const first = this.#bytes[at];
    if (typeof rule === "object") {
      if (first === OPEN_OBJECT && rule.members !== undefined) return this.#object(at, rule);
      if (first === OPEN_ARRAY && rule.items !== undefined) return this.#array(at, rule.items);
    }
    const end = ended(skipValue(this.#bytes, at));
    const json = this.#bytes.subarray(at, end);
    this.pieces.push(typeof rule === "function" ? rule(json) : json);
    return end;
  }

  #object(start: number, rule: Exclude<MemberRule, "keep" | ((json: Buffer) => Buffer)>): number {
    let separator = "{";
    let at = this.#space(start + 1);
    while (this.#bytes[at] === QUOTE) {
      const nameEnd = ended(skipValue(this.#bytes, at));
      const name = this.#bytes.subarray(at, nameEnd);
      const colon = this.#space(nameEnd);
      if (this.#bytes[colon] !== COLON) throw new NotJson("A name has no colon.");
      at = this.#space(colon + 1);
      const of = rule.members?.get(JSON.parse(name.toString("utf8")) as string) ?? rule.others ?? "keep";
      if (of === "drop") at = ended(skipValue(this.#bytes, at));
      else {
        this.pieces.push(Buffer.from(separator), name, Buffer.from(":"));
        separator = ",";
        at = this.value(at, of);
      }
      at = this.#space(at);
      if (this.#bytes[at] !== COMMA) break;
      at = this.#space(at + 1);
    }
    if (this.#bytes[at] !== CLOSE_OBJECT) throw new NotJson("An object is not closed.");
    this.pieces.push(Buffer.from(separator === "{" ? "{}" : "}"));
    return at + 1;
  }

  #array(start: number, items: MemberRule): number {
    let separator = "[";
    let at = this.#space(start + 1);
    while (this.#bytes[at] !== CLOSE_ARRAY) {
      this.pieces.push(Buffer.from(separator));
      separator = ",";
      at = this.#space(this.value(at, items));
      if (this.#bytes[at] !== COMMA) break;
      at = this.#space(at + 1);
    }
    if (this.#bytes[at] !== CLOSE_ARRAY) throw new NotJson("An array is not closed.");
    this.pieces.push(Buffer.from(separator === "[" ? "[]" : "]"));
    return at + 1;
  }

  #space(at: number): number {
    return skipWhitespace(this.#bytes, at);
  }
}

/**
 * Writes a JSON object or array anew by a rule. What the rule keeps keeps its bytes, so no number or text in it changes; space
 * between members goes only where the rule goes into an object or array. Throws for what is no JSON.
 */
export function rewriteMembers(json: Buffer, rule: MemberRule): Buffer {
  const rewriting = new Rewriting(json);
  rewriting.value(skipWhitespace(json, 0), rule);
  return Buffer.concat(rewriting.pieces);
}
