import { skipWhitespace } from "./scan-element.ts";
import { skipValue, UNSURE } from "./walk-value.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
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
export type MemberRule = "keep" | ((json: Buffer) => Buffer) | InnerRule;

interface InnerRule {
  readonly members?: ReadonlyMap<string, MemberRule>;
  readonly others?: "keep" | "drop";
  readonly items?: MemberRule;
}

/** The text is JSON: whoever calls has accepted it. */
class NotJson extends Error {}

function ended(at: number): number {
  if (at === UNSURE) throw new NotJson("A record that was accepted is no JSON.");
  return at;
}

const NOTHING = Buffer.alloc(0);
const ONE_COMMA = Buffer.from(",");

/** Walks over one value and notes where other bytes stand from now on; between two such places the bytes stay as they are. */
class Rewriting {
  readonly #bytes: Buffer;
  readonly #pieces: Buffer[] = [];
  #keptFrom = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The bytes with all that was noted; the very same where nothing was. */
  result(): Buffer {
    if (this.#pieces.length === 0) return this.#bytes;
    return Buffer.concat([...this.#pieces, this.#bytes.subarray(this.#keptFrom)]);
  }

  /** Goes over the value at `at` by its rule; answers where it is over. */
  value(at: number, rule: MemberRule): number {
    const first = this.#bytes[at];
    if (typeof rule === "object") {
      if (first === OPEN_OBJECT && rule.members !== undefined) return this.#object(at, rule);
      if (first === OPEN_ARRAY && rule.items !== undefined) return this.#array(at, rule.items);
    }
    const end = ended(skipValue(this.#bytes, at));
    if (typeof rule !== "function") return end;
    const json = this.#bytes.subarray(at, end);
    const written = rule(json);
    if (written !== json) this.#replace(at, end, written);
    return end;
  }

  #object(start: number, rule: InnerRule): number {
    // Where the last member that stays is over, or the brace; what was dropped since goes with the next one that is written.
    let keptEnd = start + 1;
    let hasKept = false;
    let hasDropped = false;
    let at = this.#space(start + 1);
    while (this.#bytes[at] === QUOTE) {
      const memberAt = at;
      const nameEnd = ended(skipValue(this.#bytes, at));
      const of = rule.members?.get(this.#nameAt(at, nameEnd)) ?? rule.others ?? "keep";
      at = this.#space(nameEnd);
      if (this.#bytes[at] !== COLON) throw new NotJson("A name has no colon.");
      at = this.#space(at + 1);
      if (of === "drop") {
        hasDropped = true;
        at = ended(skipValue(this.#bytes, at));
      } else {
        if (hasDropped) this.#replace(keptEnd, memberAt, hasKept ? ONE_COMMA : NOTHING);
        [hasKept, hasDropped] = [true, false];
        at = this.value(at, of);
        keptEnd = at;
      }
      at = this.#space(at);
      if (this.#bytes[at] !== COMMA) break;
      at = this.#space(at + 1);
    }
    if (this.#bytes[at] !== CLOSE_OBJECT) throw new NotJson("An object is not closed.");
    if (hasDropped) this.#replace(keptEnd, at, NOTHING);
    return at + 1;
  }

  #array(start: number, items: MemberRule): number {
    let at = this.#space(start + 1);
    while (this.#bytes[at] !== CLOSE_ARRAY) {
      at = this.#space(this.value(at, items));
      if (this.#bytes[at] !== COMMA) break;
      at = this.#space(at + 1);
    }
    if (this.#bytes[at] !== CLOSE_ARRAY) throw new NotJson("An array is not closed.");
    return at + 1;
  }

  /** The name between the quotes; a name with an escape in it may be any. */
  #nameAt(start: number, end: number): string {
    const name = this.#bytes.subarray(start + 1, end - 1);
    return name.includes(BACKSLASH)
      ? (JSON.parse(this.#bytes.toString("utf8", start, end)) as string)
      : name.toString("utf8");
  }

  /** Places come in order, since what is noted within a value is noted before what comes after it. */
  #replace(from: number, to: number, written: Buffer): void {
    this.#pieces.push(this.#bytes.subarray(this.#keptFrom, from), written);
    this.#keptFrom = to;
  }

  #space(at: number): number {
    return skipWhitespace(this.#bytes, at);
  }
}

/**
 * Writes a JSON object or array anew by a rule. Whatever the rule keeps keeps its bytes, so no number or text in it changes; where
 * it keeps everything the answer is `json` itself. Throws for what is no JSON.
 */
export function rewriteMembers(json: Buffer, rule: MemberRule): Buffer {
  const rewriting = new Rewriting(json);
  rewriting.value(skipWhitespace(json, 0), rule);
  return rewriting.result();
}
