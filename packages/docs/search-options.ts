import MiniSearch, { type Options, type Query, type SearchOptions } from "minisearch";
import type { Audience } from "./contents.ts";

export interface SearchEntry {
  readonly audience: Audience;
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
  storeFields: ["page", "heading", "text", "audience"],
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

/** The index that the build has written. */
export function readIndex(json: string): MiniSearch<SearchEntry> {
  return MiniSearch.loadJSON<SearchEntry>(json, SEARCH_OPTIONS);
}

/** Words of readers, in small letters, and those that the pages use for the same. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  comp: ["complimentary"],
  dst: ["daylight saving"],
  environment: ["sandbox"],
  erase: ["delete"],
  live: ["production"],
  max: ["maximum", "limit"],
  maximum: ["limit"],
  mandatory: ["required"],
  pci: ["credit card"],
  powershell: ["windows"],
  resend: ["retry"],
  staging: ["sandbox"],
  timezone: ["time zone"],
  xlsx: ["excel"],
  zones: ["zone"],
};

/** Words that say nothing of what is sought. */
const IGNORED = new Set([
  "a",
  "an",
  "and",
  "do",
  "how",
  "i",
  "in",
  "is",
  "my",
  "of",
  "or",
  "the",
  "to",
  "what",
]);

/** A query that finds sections with every word of the text, or with another word for it. */
export function queryOf(text: string): Query {
  const all = words(text.toLowerCase());
  const said = all.filter((word) => !IGNORED.has(word));
  const queries = (said.length === 0 ? all : said).map((word): Query => {
    const others = (SYNONYMS[word] ?? []).map(
      (other): Query => ({ queries: words(other), combineWith: "AND" }),
    );
    return { queries: [word, ...others], combineWith: "OR" };
  });
  return { queries, combineWith: "AND" };
}

/** Sections of the reader's own menu come first, old releases last. */
export function rankedFor(audience: Audience): SearchOptions {
  return {
    boostDocument: (id, _term, stored) => {
      if (String(id).startsWith("docs/changelog")) return 0.2;
      return stored?.["audience"] === audience ? 1 : 0.4;
    },
  };
}
