/** Longer words are not compared; the longest known one has 26 characters. */
const COMPARED_CHARACTERS_MAX = 40;
/** Limit of comparisons per search. */
const WORDS_COMPARED_MAX = 32;
const SHORT_CHARACTERS_MAX = 4;
/** From this length on three edits are allowed, as a plural needs. */
const LONG_CHARACTERS_MIN = 16;

/** A word without case and separators. */
export const folded = (word: string) => word.toLowerCase().replaceAll(/[\s_-]/g, "");

/** The Levenshtein distance, with two neighbouring letters swapped as one edit. */
export function editsBetween(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 0; at < one.length; at += 1) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to += 1) {
      const replaced = (row[to] as number) + (one[at] === other[to] ? 0 : 1);
      const isSwap = at > 0 && to > 0 && one[at] === other[to - 1] && one[at - 1] === other[to];
      const swapped = isSwap ? (before[to - 1] as number) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[to + 1] as number) + 1, (next[to] as number) + 1));
    }
    before = row;
    row = next;
  }
  return row[other.length] as number;
}

/** The candidate that differs from `word` only in case, separators and at most two edits (one in short words, three in long ones). */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > COMPARED_CHARACTERS_MAX) return undefined;
  const sought = folded(word);
  const { length } = sought;
  const editsMax = length >= LONG_CHARACTERS_MIN ? 3 : length > SHORT_CHARACTERS_MAX ? 2 : 1;
  let found: { readonly candidate: string; readonly edits: number } | undefined;
  for (const candidate of candidates.slice(0, WORDS_COMPARED_MAX)) {
    if (candidate.length > COMPARED_CHARACTERS_MAX) continue;
    const compared = folded(candidate);
    if (Math.abs(compared.length - sought.length) > editsMax) continue;
    const edits = editsBetween(sought, compared);
    if (edits <= editsMax && edits < (found?.edits ?? Number.POSITIVE_INFINITY)) found = { candidate, edits };
  }
  return found?.candidate;
}

/** ` (did you mean …?)` for a message about an unknown word, or "". */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
