import type { Options } from "minisearch";

export interface SearchEntry {
  /** Address with the fragment: `docs/contract#errors`. */
  readonly id: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** `bellhop.http.PayloadTooLarge` is found as a whole and by each of its words. */
function words(text: string): string[] {
  return text.split(/[^\p{L}\p{N}_-]+/u).flatMap((word) => {
    const parts = word.split(/(?<=[a-z])(?=[A-Z])|[_-]/).filter(Boolean);
    return parts.length > 1 ? [word, ...parts] : parts;
  });
}

/** The build makes the index with these options and the browser reads it with the same. */
export const SEARCH_OPTIONS: Options<SearchEntry> = {
  fields: ["heading", "page", "text"],
  storeFields: ["page", "heading", "text"],
  tokenize: words,
  searchOptions: {
    boost: { heading: 4, page: 0.5 },
    combineWith: "AND",
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    prefix: (term) => term.length > 1,
    // A whole word outranks the beginning of another, and that a misspelt one.
    weights: { prefix: 0.3, fuzzy: 0.1 },
  },
};
