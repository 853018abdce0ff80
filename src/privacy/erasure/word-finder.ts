/** All words have as many characters, so that a text is looked up by the beginning of what it may contain. */
const BEGINNING_CHARACTERS = 3;
const IS_ASCII = /^[\0-\x7f]*$/;

/**
 * A text without case, character by character: whatever two regular expressions that ignore case hold equal is equal, also what is not
 * (`ß` and `ss`).
 */
function withoutCase(text: string): string {
  if (IS_ASCII.test(text)) return text.toLowerCase();
  return [...text].map((character) => character.toUpperCase().toLowerCase()).join("");
}

/** Finds which of many words occur in texts, ignoring case. Reads each text once, however many words there are. */
export class WordFinder {
  /** By beginning and length: words by their spelling. */
  readonly #words = new Map<string, Map<number, Map<string, string[]>>>();

  /** `spell`: how a word, of three characters or more, is spelled in the texts. */
  constructor(words: Iterable<string>, spell: (word: string) => string = (word) => word) {
    for (const word of words) this.#add(word, withoutCase(spell(word)));
  }

  #add(word: string, spelling: string): void {
    const beginning = spelling.slice(0, BEGINNING_CHARACTERS);
    const byLength = this.#words.get(beginning) ?? new Map<number, Map<string, string[]>>();
    this.#words.set(beginning, byLength);
    const bySpelling = byLength.get(spelling.length) ?? new Map<string, string[]>();
    byLength.set(spelling.length, bySpelling);
    const alike = bySpelling.get(spelling);
    if (alike === undefined) bySpelling.set(spelling, [word]);
    else alike.push(word);
  }

  /** The words of each place in the text. */
  *wordsIn(text: string): Generator<string, void> {
    const folded = withoutCase(text);
    for (let at = 0; at + BEGINNING_CHARACTERS <= folded.length; at += 1) {
      const byLength = this.#words.get(folded.slice(at, at + BEGINNING_CHARACTERS));
      if (byLength === undefined) continue;
      for (const [length, bySpelling] of byLength) yield* bySpelling.get(folded.slice(at, at + length)) ?? [];
    }
  }

  /** Whether any of the words occurs in the text. */
  isIn(text: string): boolean {
    return this.wordsIn(text).next().done !== true;
  }
}
