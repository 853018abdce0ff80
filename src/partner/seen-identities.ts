import { hash } from "node:crypto";

/** Remembered at least; as many rows as Excel's largest sheet has. */
const REMEMBERED = 1_048_576;
const SLOTS_FIRST = 1_024;
/** Words of a slot: a fingerprint of 96 bits, and the line (0: the slot is free). */
const WORDS = 4;
const LINE = 3;

/**
 * The lines of the records read last, by their identities: of the last million records for sure, and of two million at most, in 64 MiB.
 * Of a file with more records an older one is forgotten.
 */
export class SeenIdentities {
  readonly #max: number;
  #recent = new Table(SLOTS_FIRST);
  #older: Table | undefined;

  constructor(max = REMEMBERED) {
    this.#max = max;
  }

  /** Remembers an identity, and returns the line that it was seen on before. */
  add(identity: string, line: number): number | undefined {
    const bytes = hash("sha256", identity, "buffer");
    const fingerprint = Uint32Array.from([0, 4, 8], (at) => bytes.readUInt32LE(at));
    const seen = this.#recent.lineOf(fingerprint) ?? this.#older?.lineOf(fingerprint);
    if (seen !== undefined) return seen;
    if (this.#recent.count === this.#max) {
      this.#older = this.#recent;
      this.#recent = new Table(SLOTS_FIRST);
    }
    if (this.#recent.isFull) this.#recent = this.#recent.doubled();
    this.#recent.set(fingerprint, line);
    return undefined;
  }
}

/** A hash table with open addressing in one array, because a Map of so many strings takes several times the memory. */
class Table {
  readonly #slots: number;
  readonly #words: Uint32Array;
  count = 0;

  constructor(slots: number) {
    this.#slots = slots;
    this.#words = new Uint32Array(slots * WORDS);
  }

  /** Half full, so that a search takes few steps. */
  get isFull(): boolean {
    return this.count * 2 >= this.#slots;
  }

  lineOf(fingerprint: Uint32Array): number | undefined {
    return this.#words[this.#find(fingerprint) + LINE] || undefined;
  }

  set(fingerprint: Uint32Array, line: number): void {
    const at = this.#find(fingerprint);
    this.#words.set(fingerprint, at);
    this.#words[at + LINE] = line;
    this.count += 1;
  }

  doubled(): Table {
    const wider = new Table(this.#slots * 2);
    for (let at = 0; at < this.#words.length; at += WORDS) {
      const line = this.#words[at + LINE] as number;
      if (line !== 0) wider.set(this.#words.subarray(at, at + LINE), line);
    }
    return wider;
  }

  /** Where a fingerprint is, or the free slot for it. */
  #find(fingerprint: Uint32Array): number {
    const words = this.#words;
    const [first = 0, second, third] = fingerprint;
    let at = (first % this.#slots) * WORDS;
    while (
      words[at + LINE] !== 0 &&
      (words[at] !== first || words[at + 1] !== second || words[at + 2] !== third)
    )
      at = (at + WORDS) % words.length;
    return at;
  }
}
