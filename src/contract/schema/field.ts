import { type TProperties, type TSchema, Type } from "typebox";
import { Format } from "typebox/format";
import { isCalendarDate, isUtcTimestamp } from "../calendar.ts";
import { ExactNumber, isDecimal, isInteger, type Quantity } from "../decimal.ts";

/** Longest free text, and longest code or id, in characters (contract, "Records"). */
export const TEXT_CHARACTERS_MAX = 4096;
export const CODE_CHARACTERS_MAX = 128;

/** Most items of an array in a record: three years of ninety room types. It bounds what one record can cost. */
export const ITEMS_MAX = 100_000;

/** What a field takes; `find-violations.ts` explains each and `component-schemas.ts` writes each as OpenAPI. */
export type FieldKind =
  | "text"
  | "code"
  | "identity"
  | "date"
  | "timestamp"
  | "count"
  | "integer"
  | "decimal"
  | "boolean"
  | "word"
  | "flag-or-code"
  | "code-or-object"
  | "array"
  | "object";

// Names of our own: the specification is stricter than JSON Schema's formats of these kinds.
const DATE_FORMAT = "calendar-date";
const TIMESTAMP_FORMAT = "utc-timestamp";
Format.Set(DATE_FORMAT, isCalendarDate);
Format.Set(TIMESTAMP_FORMAT, isUtcTimestamp);

/** How many characters a text has: Unicode code points, as JSON Schema counts. */
export function countCharacters(value: string): number {
  let count = value.length;
  for (let at = 0; at < value.length - 1; at += 1) {
    if (value.charCodeAt(at) >>> 10 !== 0xd800 >>> 10 || value.charCodeAt(at + 1) >>> 10 !== 0xdc00 >>> 10)
      continue;
    count -= 1;
    at += 1;
  }
  return count;
}

/** Whether a text has at most so many characters (see countCharacters). */
export function hasAtMost(value: string, charactersMax: number): boolean {
  if (value.length <= charactersMax) return true;
  return value.length <= 2 * charactersMax && countCharacters(value) <= charactersMax;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** A schema of this folder, as the walk for violations and the OpenAPI document read it. */
export interface FieldSchema {
  readonly fieldKind: FieldKind;
  readonly description: string;
  readonly example?: unknown;
  readonly nullable?: true;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly period?: readonly [string, string];
  readonly items?: FieldSchema;
  readonly minItems?: number;
}

/** A free text of at most 4,096 characters. */
export const text = (description: string, example: string) =>
  Type.String({ fieldKind: "text", maxLength: TEXT_CHARACTERS_MAX, description, example });

/** A code, id or label of at most 128 characters. */
export const code = (description: string, example: string) =>
  Type.String({ fieldKind: "code", maxLength: CODE_CHARACTERS_MAX, description, example });

/** A code, id or label that must not be empty, because the record cannot be understood without it. */
export const identity = (description: string, example: string) =>
  Type.String({ fieldKind: "identity", minLength: 1, maxLength: CODE_CHARACTERS_MAX, description, example });

/** A calendar date `YYYY-MM-DD`. */
export const date = (description: string, example: string) =>
  Type.String({ fieldKind: "date", format: DATE_FORMAT, description, example });

/** A UTC time with a trailing Z and at most microseconds. */
export const timestamp = (description: string, example: string) =>
  Type.String({ fieldKind: "timestamp", format: TIMESTAMP_FORMAT, description, example });

/** A whole number of 32 bits that counts something, as number or text. Below zero it is a warning, never a violation. */
export const count = (description: string, example: number) =>
  Type.Refine(Type.Unsafe<Quantity>({ fieldKind: "count", description, example }), isInteger);

/** A whole number of 32 bits, as number or text. */
export const integer = (description: string, example: number) =>
  Type.Refine(Type.Unsafe<Quantity>({ fieldKind: "integer", description, example }), isInteger);

/** A decimal of at most 38 digits, as number or text, never put through binary floating point. */
export const decimal = (description: string, example: number | string) =>
  Type.Refine(Type.Unsafe<Quantity>({ fieldKind: "decimal", description, example }), isDecimal);

/** true or false. */
export const flag = (description: string, example: boolean) =>
  Type.Boolean({ fieldKind: "boolean", description, example });

/** One of a fixed set of words. */
export const word = <Words extends string[]>(description: string, words: readonly [...Words]) =>
  Type.Enum([...words], { fieldKind: "word", description, example: words[0] });

/** true, false or a code: a field whose type the specification does not show. */
export const flagOrCode = (description: string, example: boolean) =>
  Type.Refine(
    Type.Unsafe<boolean | string>({ fieldKind: "flag-or-code", description, example }),
    (value: unknown) =>
      typeof value === "boolean" || (typeof value === "string" && hasAtMost(value, CODE_CHARACTERS_MAX)),
  );

/** A code or an object: items of a list whose type the specification does not show. */
export const codeOrObject = (description: string, example: string) =>
  Type.Refine(
    Type.Unsafe<string | object>({ fieldKind: "code-or-object", description, example }),
    (value: unknown) => (typeof value === "string" ? hasAtMost(value, CODE_CHARACTERS_MAX) : isObject(value)),
  );

/** A field that the specification shows as null too. */
export const nullable = <Inner extends TSchema>(inner: Inner) => {
  const { fieldKind, description, example } = inner as unknown as FieldSchema;
  return Type.Union([inner, Type.Null()], { fieldKind, description, example, nullable: true });
};

/** An array of at most 100,000 items. */
export const list = <Item extends TSchema>(description: string, items: Item, itemsMin = 0) =>
  Type.Array(items, { fieldKind: "array", description, minItems: itemsMin, maxItems: ITEMS_MAX });

/** An object; fields that are not named in it are accepted and kept. */
export const object = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Object(properties, { fieldKind: "object", description });

/** An object with a first and a last date, which must be in order (equal is legal). */
export const period = <Properties extends TProperties>(
  description: string,
  [start, end]: readonly [string & keyof Properties, string & keyof Properties],
  properties: Properties,
) =>
  Type.Refine(
    Type.Object(properties, { fieldKind: "object", description, period: [start, end] }),
    (value: unknown) =>
      inOrder((value as Record<string, unknown>)[start], (value as Record<string, unknown>)[end]),
  );

/** Whether two dates are in order; where one is absent there is nothing to compare. Dates of this form compare as text. */
export function inOrder(start: unknown, end: unknown): boolean {
  return typeof start !== "string" || typeof end !== "string" || start <= end;
}
