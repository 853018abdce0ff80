/** `npm run check -- language`: refuses words and phrases that docs/glossary.md replaces, in source, SQL, documents and the OpenAPI document. */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Banned expressions (ignoring case) and their replacements. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [
    /(?:\b|_)(?:told|untold|tell(?:s|ers?|ings?))(?:\b|_)/,
    "reported, notified, logged, listed, stated: name who does it",
  ],
  // Quoted, it is a state of the metric bellhop_log_writers.
  [
    /(?<!['`])(?:\b|_)(?:un)?seal(?:s|ed|ers?|ing)?(?:\b|_)/,
    "encrypt, decrypt, cipher; close (a log writer)",
  ],
  [/\b(?:is|are|was|were|be) looked (?:at|for|up by whoever)\b/, "name who reads or checks it"],
  [/\bwho(?:so)?ever\b/, "name the subject"],
  [/\bsuch a one\b/, "name it"],
  [/\bthere is nothing to\b/, "say what is missing"],
  [/\bwhat is left\b/, "name what remains"],
  [/\bmend(?:s|ed|ing)?\b/, "fix"],
  [/\bspares?\b(?! (?:room|time|disk|capacity))/, "avoids"],
  [/\bas it was sent\b/, "verbatim"],
  [/\bby itself\b/, "alone, automatically"],
  [/\blanes?\b/, "log writer"],
  [/\blooks? around\b/, "cluster view"],
  [/\bcomplaints?\b/, "usage error, finding"],
  [/\bgives? way\b/, "runs at lower priority"],
  [/\bhow far it goes\b/, "capacity"],
  [/\bgiven back\b/, "released, returned"],
  [/\bpass(?:ed|es)? over\b/, "drain, skip"],
  [
    /\bheld[ _-]?(?:aside|in quarantine|records?|entry|rows?)\b|\b(?:list|count|resolve)[ _-]?held\b|\bquarantine_held(?!_records)/,
    "quarantined",
  ],
  [
    /\b(?:known|canonical|status|map|unmap)[ _-]?labels?\b|\blabel(?:led)?[ _-]?(?:resource|mapping|meaning)s?\b/,
    "status, status mapping",
  ],
  [/\bexchanges? of nights\b/, "ledger delta"],
  [/\bwhat became of\b/, "outcome"],
];

const FILES = [
  "src",
  "packages",
  "sql",
  "docs",
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "deploy",
  "examples",
];
/** Word boundaries in camel-case identifiers such as `isTold`. */
const WORD_ENDS = /(?<=[a-z])(?=[A-Z])/g;
/** Test titles that documents quote. */
const QUOTED_TITLES = /› "[^"]*"(?:, "[^"]*")*/g;
/** The API field `mended` of a backfill's gaps is published, so it is exempt. */
const API_FIELDS = /[`".]mended\b[`"]?|\bmended(?=: )/g;
const API_FIELD_FILES = /backfill|docs\/openapi(?:\.codegen)?\.json$|src\/console\/answers\.ts$/;
/** Unpublished measurements and generated files. */
const LEFT_OUT =
  /^docs\/(?:internal|measurements)|\.(?:webp|svg|png)$|^docs\/decisions\/dependencies|package-lock\.json$/;

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...FILES], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && !LEFT_OUT.test(file));
let found = 0;
for (const file of files) {
  const text = await readFile(new URL(`../${file}`, import.meta.url), "utf8").catch(() => "");
  const prose = text.replace(QUOTED_TITLES, "").replace(API_FIELD_FILES.test(file) ? API_FIELDS : "", "");
  for (const [at, line] of prose.split("\n").entries())
    for (const [banned, instead] of BANNED) {
      const match = new RegExp(banned, "i").exec(line.replace(WORD_ENDS, " "));
      if (match === null) continue;
      found += 1;
      console.error(`${file}:${at + 1}: "${match[0]}": ${instead}`);
    }
}
if (found > 0) {
  console.error(`\n${found} phrases that docs/glossary.md replaces.`);
  process.exitCode = 1;
}
