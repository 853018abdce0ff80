// Facts as the tests of this folder read them: the text form of a PostgreSQL row, taken apart by the manual's rules and
// not by those that wrote it.
import { readFileSync } from "node:fs";
import { spansOf } from "#contract/parsed-spans.ts";
import { type FactsText, SpanFacts } from "#contract/read-record.ts";
import type { Resource } from "#contract/resource.ts";

const TYPES = { inventories: "inventory_facts", reservations: "reservation_facts", groups: "group_facts" };

/** The facts of a record that was parsed, as they are stored. */
export function parsedFacts(resource: Resource, record: object): string {
  return factsText(new SpanFacts(resource, spansOf(resource, record as Readonly<Record<string, unknown>>)));
}

/** The text that facts write. */
export function factsText(facts: FactsText): string {
  const to = Buffer.alloc(facts.bytesMax() + 2, "?");
  const end = facts.write(to, 1);
  if (end > to.length - 1 || to[to.length - 1] !== 0x3f) throw new Error("facts are longer than they say");
  return to.toString("utf8", 1, end);
}

export type ReadFact = string | null | readonly (string | null)[];

/** The columns of the composite type of a resource, with their types, as the migration creates it. */
export function factColumns(resource: Resource): ReadonlyMap<string, string> {
  const sql = readFileSync(new URL("../../sql/migrations/0001-create-schema.sql", import.meta.url), "utf8");
  const [, columns = ""] =
    new RegExp(`create type bellhop\\.${TYPES[resource]} as \\(([\\s\\S]*?)\\n\\)`).exec(sql) ?? [];
  const lines = columns.split("\n").map((line) => /^ {2}([a-z_]+) (\w+(?:\[\])?)/.exec(line));
  return new Map(
    lines.flatMap((match) => (match === null ? [] : [[match[1] as string, match[2] as string]])),
  );
}

/** Splits what stands between the outer brackets at commas; quotes and backslashes as in rows and arrays alike. */
function split(text: string, absent: string): (string | null)[] {
  const parts: (string | null)[] = [];
  let part = "";
  let isQuoted = false;
  let wasQuoted = false;
  const end = () => {
    parts.push(!wasQuoted && part === absent ? null : part);
    part = "";
    wasQuoted = false;
  };
  for (let at = 1; at < text.length - 1; at += 1) {
    const letter = text[at] as string;
    if (letter === "\\") {
      at += 1;
      part += text[at];
    } else if (letter === '"') {
      isQuoted = !isQuoted;
      wasQuoted = true;
    } else if (letter === "," && !isQuoted) end();
    else part += letter;
  }
  end();
  return parts;
}

/** The facts of a text by the names of their columns. */
export function readFacts(resource: Resource, text: string): Readonly<Record<string, ReadFact>> {
  const fields = split(text, "");
  const columns = [...factColumns(resource)];
  if (fields.length !== columns.length) throw new Error(`${fields.length} facts: ${text}`);
  return Object.fromEntries(
    columns.map(([name, type], at) => {
      const field = fields[at] ?? null;
      return [name, field !== null && type.endsWith("[]") ? split(field, "NULL") : field];
    }),
  );
}

// ASCII that neither rows nor arrays give a meaning: letters, digits, and marks but these.
const IS_PLAIN = new Uint8Array(128).fill(1, 0x21, 0x7f);
for (const letter of Buffer.from('"\\,{}()')) IS_PLAIN[letter] = 0;
const TO_ESCAPE = /["\\]/;
const ALL_TO_ESCAPE = /["\\]/g;
const QUOTE = 0x22;

/** Whether a text means itself without quotes. A loop, since codes are short and there are some forty in a record. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (IS_PLAIN[text.charCodeAt(at)] !== 1) return false;
  return text.length > 0;
}

function quoted(text: string): string {
  return `"${TO_ESCAPE.test(text) ? text.replace(ALL_TO_ESCAPE, "\\$&") : text}"`;
}

/**
 * The text form of a row: PostgreSQL's own (manual, "Composite Types", section "Composite Type Input and Output Syntax").
 * For the tests of what reads it.
 */
export function rowText(fields: readonly string[]): string {
  return `(${fields.join(",")})`;
}

/** A text as a field of a row. */
export function textField(value: string | null | undefined): string {
  if (value === null || value === undefined) return "";
  return isPlain(value) ? value : quoted(value);
}

/**
 * An array as a field of a row (manual, "Arrays", section "Array Input and Output Syntax"). An array in which every
 * element is null, or that has none, is null: unnested beside arrays with elements it reads the same.
 */
function arrayField<Item>(
  items: readonly Item[],
  elementOf: (item: Item, at: number) => string | null,
): string {
  if (items.length === 1) {
    const element = elementOf(items[0] as Item, 0);
    if (element === null) return "";
    return isQuoted(element) ? quoted(`{${element}}`) : `{${element}}`;
  }
  let text = "";
  let isGiven = false;
  let hasQuotes = false;
  for (let at = 0; at < items.length; at += 1) {
    const element = elementOf(items[at] as Item, at);
    if (at > 0) text += ",";
    if (element === null) text += "NULL";
    else {
      isGiven = true;
      hasQuotes ||= isQuoted(element);
      text += element;
    }
  }
  if (!isGiven) return "";
  return hasQuotes ? quoted(`{${text}}`) : `"{${text}}"`;
}

function isQuoted(element: string): boolean {
  return element.charCodeAt(0) === QUOTE;
}

/** The fields of a row that hold one array each of what is told of the same items. */
export function arrayFields<Item>(
  items: readonly Item[],
  elements: readonly ((item: Item, at: number) => string | null)[],
): string[] {
  if (items.length === 0) return new Array<string>(elements.length).fill("");
  return elements.map((elementOf) => arrayField(items, elementOf));
}

/** A text as an element of an array. The word NULL, in any case, would be no text unless it is quoted. */
export function textElement(value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (!isPlain(value) || (value.length === 4 && value.toUpperCase() === "NULL")) return quoted(value);
  return value;
}
