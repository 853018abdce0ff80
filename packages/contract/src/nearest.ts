/** Longer words are not compared; the longest known one has 26 characters. */
const COMPARED_CHARACTERS_MAX = 40;
/** Of a folded word, whose places are the bits of a number. */
const PLACES_MAX = 32;
const ASCII_CODES = 128;
/** Limit of comparisons per search. */
const WORDS_COMPARED_MAX = 32;
const SHORT_CHARACTERS_MAX = 4;
/** From this length on three edits are allowed, as a plural needs. */
const LONG_CHARACTERS_MIN = 16;

/** A word without case and separators. */
export const folded = (word: string) => word.toLowerCase().replaceAll(/[\s_-]/g, "");

/** A folded word of at most 32 characters. Characters beyond ASCII, of which no known word has any, are equal to none. */
export class ComparedWord {
  /** The places of each character, as bits. */
  readonly #places = new Int32Array(ASCII_CODES);
  readonly #length: number;

  constructor(word: string) {
    this.#length = word.length;
    for (let at = 0; at < word.length; at += 1) {
      const code = word.charCodeAt(at);
      if (code < ASCII_CODES) this.#places[code] = this.#placesOf(code) | (1 << at);
    }
  }

  /**
   * The Levenshtein distance, with two neighbouring letters swapped as one edit; any number above `max` if it is above. Each character
   * takes one step, because bits hold a column of the table: where it rises and falls by one downwards (Hyyrö, 2003).
   */
  editsTo(other: string, max: number): number {
    if (this.#length === 0) return other.length;
    const last = 1 << (this.#length - 1);
    let edits = this.#length;
    let rises = -1;
    let falls = 0;
    let equal = 0;
    let placesBefore = 0;
    for (let at = 0; at < other.length; at += 1) {
      const places = this.#placesOf(other.charCodeAt(at));
      const swapped = ((~equal & places) << 1) & placesBefore;
      equal = (((places & rises) + rises) ^ rises) | places | falls | swapped;
      const worse = falls | ~(equal | rises);
      const better = equal & rises;
      if ((worse & last) !== 0) edits += 1;
      else if ((better & last) !== 0) edits -= 1;
      // The characters to come improve it by one each at most.
      if (edits - (other.length - at - 1) > max) return max + 1;
      const worseBelow = (worse << 1) | 1;
      rises = (better << 1) | ~(equal | worseBelow);
      falls = worseBelow & equal;
      placesBefore = places;
    }
    return edits;
  }

  #placesOf(code: number): number {
    return code < ASCII_CODES ? (this.#places[code] as number) : 0;
  }
}

/** The candidate that differs from `word` only in case, separators and at most two edits (one in short words, three in long ones). */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > COMPARED_CHARACTERS_MAX) return undefined;
  const sought = folded(word);
  const { length } = sought;
  if (length > PLACES_MAX) return undefined;
  const compared = new ComparedWord(sought);
  let editsMax = length >= LONG_CHARACTERS_MIN ? 3 : length > SHORT_CHARACTERS_MAX ? 2 : 1;
  let found: string | undefined;
  for (const candidate of candidates.slice(0, WORDS_COMPARED_MAX)) {
    if (candidate.length > COMPARED_CHARACTERS_MAX) continue;
    const known = folded(candidate);
    if (Math.abs(known.length - length) > editsMax) continue;
    const edits = compared.editsTo(known, editsMax);
    if (edits > editsMax) continue;
    found = candidate;
    editsMax = edits - 1;
  }
  return found;
}

/** ` (did you mean …?)` for a message about an unknown word, or "". */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
