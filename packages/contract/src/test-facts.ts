// Facts as the tests of this folder read them: the text form of a PostgreSQL row, taken apart by the manual's rules and
// not by those that wrote it.
import { readFileSync } from "node:fs";
import type { FactsText } from "./record-reading.ts";
import type { Resource } from "./resource.ts";

const TYPES = { inventories: "inventory_facts", reservations: "reservation_facts", groups: "group_facts" };

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
  const sql = readFileSync(
    new URL("../../../sql/migrations/0001-create-schema.sql", import.meta.url),
    "utf8",
  );
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
