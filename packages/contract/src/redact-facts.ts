import { spansOfFacts } from "./parsed-spans.ts";
import { SpanFacts } from "./read-record.ts";
import { ERASED } from "./redact-record.ts";
import { byResource, type Resource } from "./resource.ts";
import { FIELDS } from "./schema/record-schemas.ts";

/** The texts of facts with personal data after an erasure, by their numbers. */
const ERASED_FACTS = byResource((resource): ReadonlyMap<number, string> => {
  const personal = FIELDS[resource].flatMap(({ field: { notes } }) =>
    notes?.personal === undefined || notes.fact === undefined ? [] : [notes.fact],
  );
  if (resource === "inventories" && personal.length > 0)
    throw new Error("Facts of inventories cannot be erased: their field cannot be personal.");
  return new Map(personal.map((fact) => [fact, ERASED]));
});

/** The facts of a version without personal data: those of the record after `redactRecord`. Idempotent. */
export function redactFacts(resource: Resource, facts: string): string {
  const erased = ERASED_FACTS[resource];
  if (resource === "inventories" || erased.size === 0) return facts;
  const redacted = new SpanFacts(resource, spansOfFacts(resource, facts, erased));
  const text = Buffer.alloc(redacted.bytesMax());
  return text.toString("utf8", 0, redacted.write(text, 0));
}
