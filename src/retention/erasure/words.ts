/** A shorter text is in too many others: taking it out of them would take out what is nobody's. */
const WORD_CHARACTERS_MIN = 3;

/** Texts by which a person could be found elsewhere, each once. */
export function searchableWords(texts: Iterable<string>): string[] {
  const trimmed = [...texts].map((text) => text.trim()).filter((text) => text.length >= WORD_CHARACTERS_MIN);
  return [...new Set(trimmed)];
}

/** Each part of a name by itself: enough to take it out of what was said of the very records that it stood in, and of nothing else. */
export function partsOfWords(words: readonly string[]): string[] {
  return searchableWords(words.flatMap((word) => [word, ...word.split(/[^\p{L}\p{N}]+/u)]));
}

/** Whether a text has one of the words in it, whatever its case. */
export function mentions(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.some((word) => lower.includes(word.toLowerCase()));
}
