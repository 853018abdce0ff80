import { type SqlStatement, splitAtCommas, statementsOf } from "./sql-statements.ts";

/**
 * Rules for expand migrations (docs/internal/releases.md): add, without removing or changing anything, and without long
 * locks, because nodes of the previous version are writing. Unknown statements are reported; `-- allowed: why` above a
 * statement permits it.
 */

const ADDS_WITHOUT_LOCKS = [
  /^set local /,
  /^select set_config\(/,
  /^create schema /,
  /^create (?:or replace )?(?:function|procedure|view) /,
  /^create (?:type|domain|sequence|extension) /,
  /^insert into /,
  /^comment on /,
  /^grant /,
  /^analyze /,
];

/** Changes to existing tables that lock at most briefly and that earlier statements do not notice. */
const HARMLESS_CHANGES = [
  /^validate constraint /,
  /^alter (?:column )?\S+ set (?:default|statistics|storage|compression) /,
  /^(?:set|reset) \(/,
];

/** Defaults that do not require rewriting existing rows. */
const CONSTANT = /^(?:'…'(?:::[\w ."[\]]+)?|-?\d+(?:\.\d+)?|true|false|null|now\(\)|current_timestamp)$/;

/** Words that a column definition must not contain, and the reason. */
const COLUMN_FLAWS: readonly (readonly [RegExp, string])[] = [
  [
    /\bgenerated\b|\b(?:small|big)?serial\b/,
    "writes every row again: the table is locked as long as that takes",
  ],
  [
    /\breferences\b/,
    "locks the other table and checks every row: add the constraint not valid, then validate it",
  ],
  [/\b(?:primary key|unique)\b/, "builds an index under a lock: build it concurrently, in a file of its own"],
  [/\bcheck \(/, "is checked for rows that a version writes which knows nothing of it"],
];

/** The violations of an expand migration, one sentence each. */
export function expandViolations(sql: string): string[] {
  const made = new Set<string>();
  let schema = "public";
  return statementsOf(sql).flatMap((statement) => {
    const path = /^set local search_path (?:=|to) (\w+)/.exec(statement.text)?.[1];
    if (path !== undefined) schema = path;
    const nameOf = (name: string) => (name.includes(".") ? name : `${schema}.${name}`);
    const flaws = flawsOf(statement.text, (name) => made.has(nameOf(name)));
    const table = /^create (?:unlogged )?table (?:if not exists )?([\w."]+)/.exec(statement.text)?.[1];
    if (table !== undefined) made.add(nameOf(table));
    return isAllowed(statement) ? [] : flaws.map((flaw) => `${shortened(statement.text)}: ${flaw}`);
  });
}

/** Minimum length of a reason. */
const REASON_LENGTH_MIN = 20;

function isAllowed({ comments }: SqlStatement): boolean {
  return comments.some(
    (comment) => comment.startsWith("allowed: ") && comment.length >= "allowed: ".length + REASON_LENGTH_MIN,
  );
}

function shortened(text: string): string {
  return text.length <= 90 ? text : `${text.slice(0, 89)}…`;
}

function flawsOf(text: string, isNew: (table: string) => boolean): string[] {
  if (ADDS_WITHOUT_LOCKS.some((pattern) => pattern.test(text))) return [];
  if (/^create (?:unlogged )?table /.test(text)) {
    return / partition of /.test(text)
      ? ["holds up everybody at the table it is a partition of: create it by itself, then attach it"]
      : [];
  }
  const index = /^create (?:unique )?index (concurrently )?.*? on (?:only )?([\w."]+)/.exec(text);
  if (index !== null) {
    const [, concurrently, table = ""] = index;
    if (concurrently !== undefined || isNew(table)) return [];
    return [
      'holds up who writes as long as it is built: a file of its own that begins with "-- concurrently"',
    ];
  }
  const written = /^(?:update|delete from|truncate(?: table)?) (?:only )?([\w."]+)/.exec(text)?.[1];
  if (written !== undefined)
    return isNew(written)
      ? []
      : ["writes rows that are there: the service does that, bit by bit, when it runs"];
  const altered = /^alter table (?:if exists )?(?:only )?([\w."]+) (.*)$/.exec(text);
  if (altered !== null) {
    const [, table = "", changes = ""] = altered;
    return isNew(table) ? [] : splitAtCommas(changes).flatMap((change) => flawsOfChange(change, isNew));
  }
  if (/^drop /.test(text))
    return ["takes away what the version before may use: that is for a contract migration"];
  if (/^do /.test(text)) return ["cannot be read by a rule"];
  return ["is no statement that a rule knows to be harmless"];
}

function flawsOfChange(change: string, isNew: (table: string) => boolean): string[] {
  if (HARMLESS_CHANGES.some((pattern) => pattern.test(change))) return [];
  const attached = /^attach partition ([\w."]+)/.exec(change)?.[1];
  if (attached !== undefined)
    return isNew(attached)
      ? []
      : ["holds up who uses the attached table, and reads it whole without a valid check"];
  const column =
    /^add (?:column )?(?:if not exists )?(?!constraint\b|primary\b|unique\b|foreign\b|check\b|exclude\b)\S+ (.*)$/.exec(
      change,
    )?.[1];
  if (column !== undefined) return flawsOfColumn(column);
  if (/^add (?:constraint|primary|unique|foreign|check|exclude)\b/.test(change))
    return ["binds rows that the version before writes, which knows nothing of it"];
  if (/^(?:drop|rename|set schema|detach)\b/.test(change) || /\bset not null\b/.test(change))
    return ["takes away what the version before may use: that is for a contract migration"];
  if (/\btype\b/.test(change))
    return ["changes a type that the version before reads, and writes every row again"];
  return ["is no change that a rule knows to be harmless"];
}

function flawsOfColumn(definition: string): string[] {
  const flaws = COLUMN_FLAWS.filter(([pattern]) => pattern.test(definition)).map(([, flaw]) => flaw);
  const given = /\bdefault (.+?)(?: not null| collate .*)?$/.exec(definition)?.[1];
  if (given !== undefined && !CONSTANT.test(given))
    flaws.push("its default is no constant: every row is written again");
  if (/\bnot null\b/.test(definition) && given === undefined)
    flaws.push(
      "is demanded of the version before, which does not write it: give it a default, or let it be null",
    );
  return flaws;
}
