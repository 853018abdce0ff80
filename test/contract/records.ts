// Records derived from the examples of the schemas, so that new fields are tested automatically.
import { findViolations, ViolationList } from "#contract/field-kinds.ts";
import type { BatchRecord } from "#contract/read-batch.ts";
import { readBatch } from "#contract/read-batch.ts";
import type { Resource } from "#contract/resource.ts";
import type { FieldSchema } from "#contract/schema/field.ts";
import { RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";

export const LIMITS = { recordsMax: 10_000, depthMax: 16 };

/** A valid record of a resource with every field of the contract; a fresh copy each time. */
export function fullRecord(resource: Resource): Record<string, unknown> {
  return structuredClone(exampleOf(RECORD_SCHEMAS[resource])) as Record<string, unknown>;
}

/** A valid record with the required fields only. */
export function leastRecord(resource: Resource): Record<string, unknown> {
  return structuredClone(exampleOf(RECORD_SCHEMAS[resource], true)) as Record<string, unknown>;
}

function exampleOf(schema: FieldSchema, leastOnly = false): unknown {
  if (schema.fieldKind === "array") return [exampleOf(schema.items as FieldSchema, leastOnly)];
  if (schema.fieldKind !== "object") return schema.example;
  const names = Object.keys(schema.properties ?? {}).filter(
    (name) => !leastOnly || schema.required?.includes(name) === true,
  );
  return Object.fromEntries(
    names.map((name) => [name, exampleOf(schema.properties?.[name] as FieldSchema, leastOnly)]),
  );
}

/** A copy of a value with what a JSON pointer names set; `undefined` takes it out. Objects on the way are made. */
export function changed<T>(value: T, pointer: string, to: unknown): T {
  const copy = structuredClone(value);
  const steps = pointer.split("/").slice(1);
  const last = steps.pop() as string;
  let at = copy as Record<string, unknown>;
  for (const step of steps) {
    at[step] ??= {};
    at = at[step] as Record<string, unknown>;
  }
  if (to === undefined) delete at[last];
  else at[last] = to;
  return copy;
}

/** The records of a batch's text. Fails the test where it is no batch. */
export function recordsOf(text: string | Buffer): readonly BatchRecord[] {
  const reading = readBatch(Buffer.from(text as string), LIMITS);
  if (!reading.ok) throw new Error(reading.message);
  return reading.records;
}

/** The one record of a batch of a value. */
export function recordOf(value: unknown): BatchRecord {
  return recordsOf(`[${JSON.stringify(value)}]`)[0] as BatchRecord;
}

/** Whether a value is a valid record of a resource. */
export function isValidRecord(resource: Resource, value: unknown): boolean {
  const found = new ViolationList(0, 1, [], 0);
  findViolations(RECORD_SCHEMAS[resource], value, found);
  return found.total === 0;
}
