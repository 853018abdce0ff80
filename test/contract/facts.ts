// Reads facts independently of the code under test: parses the text form of PostgreSQL arrays by its manual.
import { spansOf } from "#contract/parsed-spans.ts";
import { type FactsText, SpanFacts } from "#contract/read-record.ts";
import type { Resource } from "#contract/resource.ts";
import { storedVersions } from "../../src/platform/db/analytics/stored-versions.ts";

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

/** A fact as the view reads it. */
export interface FactColumn {
  readonly name: string;
  readonly type: string;
  /** Its place in the text, from 1. */
  readonly place: number;
  /** How the view reads it of the array `fact`. */
  readonly expression: string;
}

/** The facts of a resource in the order of its view, `analytics.stored_reservation_version` and so on, by what the view does. */
export function factColumns(resource: Resource): readonly FactColumn[] {
  return storedVersions(resource).columns.flatMap(({ name, sql: expression }) => {
    const [, place] = /fact\[(\d+)\]/.exec(expression) ?? [];
    if (place === undefined) return [];
    const isTime = expression.includes("at time zone 'UTC'");
    const type = isTime ? "timestamptz" : (/::(\w+)(?:\[\])?$/.exec(expression)?.[1] ?? "text");
    const list = expression.includes("bellhop.list_of") ? "[]" : "";
    return { name, type: `${type}${list}`, place: Number(place), expression };
  });
}

/** Splits what stands within the braces of an array at commas, by its quotes and backslashes. */
function split(text: string): (string | null)[] {
  const parts: (string | null)[] = [];
  let part = "";
  let isQuoted = false;
  let wasQuoted = false;
  const end = () => {
    parts.push(!wasQuoted && part === "NULL" ? null : part);
    part = "";
    wasQuoted = false;
  };
  for (let at = 0; at < text.length; at += 1) {
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

/** The elements of a list: those that are left empty are like the first. */
function elements(list: string): (string | null)[] {
  const commas = /,*$/.exec(list)?.[0].length ?? 0;
  const given = split(list.slice(0, list.length - commas));
  return [...given, ...new Array<string | null>(commas).fill(given[0] ?? null)];
}

/** The facts of a text by the names of their columns. */
export function readFacts(resource: Resource, text: string): Readonly<Record<string, ReadFact>> {
  const fields = split(text.slice(1, -1));
  const columns = factColumns(resource);
  if (fields.length > columns.length) throw new Error(`${fields.length} facts: ${text}`);
  return Object.fromEntries(
    columns.map(({ name, type, place }) => {
      const field = fields[place - 1] ?? null;
      return [name, field !== null && type.endsWith("[]") ? elements(field) : field];
    }),
  );
}

const PLAIN = /^[!#-'*+\-.-[\]-z|~]+$/;
const TO_ESCAPE = /["\\]/g;

/**
 * What stands within the braces of an array of these (manual, "Arrays", section "Array Input and Output Syntax"). The word NULL, in any
 * case, would be no text unless it is quoted. For the tests of what reads it.
 */
export function listText(elements: readonly (string | null)[]): string {
  const textOf = (element: string) =>
    PLAIN.test(element) && element.toUpperCase() !== "NULL"
      ? element
      : `"${element.replace(TO_ESCAPE, "\\$&")}"`;
  return elements.map((element) => (element === null ? "NULL" : textOf(element))).join(",");
}
