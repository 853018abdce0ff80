import MiniSearch, { type Options, type Query, type SearchOptions, type SearchResult } from "minisearch";
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

/** Endings that a reader's word and the page's may differ in: sent batches, a batch that is sending. */
const ENDING = /(?:(?<=ch|sh|ss|x)es|(?<!s)s|ing|ed)$/;
const STEM_LETTERS_MIN = 4;

/** A word in small letters without its ending, if enough is left. */
function stem(word: string): string {
  const small = word.toLowerCase();
  const cut = small.replace(ENDING, "");
  return cut.length < STEM_LETTERS_MIN ? small : cut;
}

/** The build makes the index with these options and the browser reads it with the same. */
export const SEARCH_OPTIONS: Options<SearchEntry> = {
  fields: ["heading", "page", "text"],
  storeFields: ["page", "heading", "text", "audience"],
  tokenize: words,
  processTerm: stem,
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
  allowlist: ["allow list"],
  big: ["maximum", "limit"],
  breaking: ["version"],
  clear: ["reset"],
  comp: ["complimentary"],
  dst: ["daylight saving"],
  environment: ["sandbox"],
  erase: ["delete"],
  large: ["maximum", "limit"],
  lasts: ["valid"],
  last: ["valid", "newest"],
  lifetime: ["valid", "expires"],
  live: ["production"],
  max: ["maximum", "limit"],
  maximum: ["limit"],
  mandatory: ["required"],
  pci: ["credit card"],
  powershell: ["windows"],
  resend: ["retry"],
  schema: ["version", "field"],
  send: ["sent"],
  sent: ["send"],
  staging: ["sandbox"],
  timezone: ["time zone"],
  xlsx: ["excel"],
  whitelist: ["allow list"],
  wipe: ["reset", "delete"],
  zones: ["zone"],
};

/** Words that say nothing of what is sought. */
const IGNORED = new Set(
  "a an and are at be can do does for happens how i if in is it long may must my of on or should the to we what when which will with you".split(
    " ",
  ),
);

type Combination = "AND" | "OR";

/** A query for sections with every word of the text, or with any, or with another word for it. */
function queryOf(text: string, combineWith: Combination): Query {
  const all = words(text.toLowerCase());
  const said = all.filter((word) => !IGNORED.has(word));
  const queries = (said.length === 0 ? all : said).map((word): Query => {
    const others = (SYNONYMS[word] ?? []).map(
      (other): Query => ({ queries: words(other), combineWith: "AND" }),
    );
    return { queries: [word, ...others], combineWith: "OR" };
  });
  return { queries, combineWith };
}

/** Sections of the reader's own menu come first, old releases last. */
function rankedFor(audience: Audience): SearchOptions {
  return {
    boostDocument: (id, _term, stored) => {
      if (String(id).startsWith("docs/changelog")) return 0.2;
      const ofQuestions = String(id).startsWith("docs/faq") ? 1.5 : 1;
      return ofQuestions * (stored?.["audience"] === audience ? 1 : 0.4);
    },
  };
}

/** With fewer sections that have every word, those follow that have the most. */
const ENOUGH = 5;

/** The sections that answer a reader's words best, best first. */
export function findSections(
  index: MiniSearch<SearchEntry>,
  text: string,
  audience: Audience,
): SearchResult[] {
  const ranked = rankedFor(audience);
  const found = index.search(queryOf(text, "AND"), ranked);
  if (found.length >= ENOUGH) return found;
  const known = new Set(found.map(({ id }) => id));
  const more = index.search(queryOf(text, "OR"), ranked);
  return [...found, ...more.filter(({ id }) => !known.has(id))];
}
