import { ExactNumber, type Quantity } from "../decimal.ts";

/** Longest free text, and longest code or id, in characters (contract, "Records"). */
export const TEXT_CHARACTERS_MAX = 4096;
export const CODE_CHARACTERS_MAX = 128;

/** Most items of an array in a record: three years of ninety room types. It bounds what one record can cost. */
export const ITEMS_MAX = 100_000;

/** What a field takes; `field-kinds.ts` has the rules of each. */
export type FieldKind =
  | "text"
  | "code"
  | "identity"
  | "currency"
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

/** Whether a text is empty or white space only. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** A schema of this folder: what every reader of the contract goes by, from the check to the OpenAPI document. */
export interface FieldSchema {
  readonly fieldKind: FieldKind;
  readonly description: string;
  readonly example?: unknown;
  readonly nullable?: true;
  /** Of a member of an object: it may be left out. */
  readonly optional?: true;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly period?: readonly [string, string];
  readonly items?: FieldSchema;
  readonly minItems?: number;
  /** Of a text, code, identity or currency, in characters. */
  readonly minLength?: number;
  readonly maxLength?: number;
}

declare const VALUE: unique symbol;

/** A schema and, for the compiler only, the type of the values that it takes. */
export interface Field<Value> extends FieldSchema {
  readonly [VALUE]: Value;
}

interface OptionalField<Value> extends Field<Value> {
  readonly optional: true;
}

type Fields = Readonly<Record<string, Field<unknown>>>;

/** The type of the values that a schema takes. */
export type ValueOf<Schema> = Schema extends Field<infer Value> ? Value : never;

type OptionalNames<Members extends Fields> = {
  [Name in keyof Members]: Members[Name] extends OptionalField<unknown> ? Name : never;
}[keyof Members];

type ObjectOf<Members extends Fields> = {
  [Name in Exclude<keyof Members, OptionalNames<Members>>]: ValueOf<Members[Name]>;
} & { [Name in OptionalNames<Members>]?: ValueOf<Members[Name]> };

function field<Value>(schema: FieldSchema): Field<Value> {
  return schema as Field<Value>;
}

/** A free text, of at most 4,096 characters unless the field has another limit. */
export const text = (description: string, example: string, maxLength = TEXT_CHARACTERS_MAX) =>
  field<string>({ fieldKind: "text", description, example, maxLength });

/** A code, id or status of at most 128 characters. */
export const code = (description: string, example: string) =>
  field<string>({ fieldKind: "code", description, example, maxLength: CODE_CHARACTERS_MAX });

/** A code, id or status that must not be empty, because the record cannot be understood without it. */
export const identity = (description: string, example: string) =>
  field<string>({
    fieldKind: "identity",
    description,
    example,
    minLength: 1,
    maxLength: CODE_CHARACTERS_MAX,
  });

/** A currency by ISO 4217, of at most 128 characters: read in any case, with white space around it. */
export const currency = (description: string, example: string) =>
  field<string>({ fieldKind: "currency", description, example, maxLength: CODE_CHARACTERS_MAX });

/** A calendar date `YYYY-MM-DD`. */
export const date = (description: string, example: string) =>
  field<string>({ fieldKind: "date", description, example });

/** A UTC time with a trailing Z; see `isUtcTimestamp`. */
export const timestamp = (description: string, example: string) =>
  field<string>({ fieldKind: "timestamp", description, example });

/** A whole number of 32 bits that counts something, as number or text. Below zero it is a warning, never a violation. */
export const count = (description: string, example: number) =>
  field<Quantity>({ fieldKind: "count", description, example });

/** A whole number of 32 bits, as number or text. */
export const integer = (description: string, example: number) =>
  field<Quantity>({ fieldKind: "integer", description, example });

/** A decimal of at most 38 digits, as number or text, never put through binary floating point. */
export const decimal = (description: string, example: number | string) =>
  field<Quantity>({ fieldKind: "decimal", description, example });

export const flag = (description: string, example: boolean) =>
  field<boolean>({ fieldKind: "boolean", description, example });

/** One of a fixed set of words. */
export const word = <const Words extends readonly string[]>(description: string, words: Words) =>
  field<Words[number]>({ fieldKind: "word", description, example: words[0], enum: words });

/** true, false or a code: a field whose type the specification does not show. */
export const flagOrCode = (description: string, example: boolean) =>
  field<boolean | string>({ fieldKind: "flag-or-code", description, example });

/** A code or an object: items of a list whose type the specification does not show. */
export const codeOrObject = (description: string, example: string) =>
  field<string | object>({ fieldKind: "code-or-object", description, example });

/** A field that the specification shows as null too, or describes without a name: what it may be is open. */
export const nullable = <Value>(inner: Field<Value>) => field<Value | null>({ ...inner, nullable: true });

/** A member of an object that may be left out. */
export const optional = <Value>(inner: Field<Value>): OptionalField<Value> => ({ ...inner, optional: true });

/** An array of at most 100,000 items. */
export const list = <Item>(description: string, items: Field<Item>, itemsMin = 0) =>
  field<Item[]>({ fieldKind: "array", description, items, minItems: itemsMin });

/** An object; fields that are not named in it are accepted and kept. */
export const object = <Members extends Fields>(description: string, properties: Members) =>
  field<ObjectOf<Members>>({
    fieldKind: "object",
    description,
    properties,
    required: requiredOf(properties),
  });

/** An object with a first and a last date, which must be in order (equal is legal). */
export const period = <Members extends Fields>(
  description: string,
  dates: readonly [string & keyof Members, string & keyof Members],
  properties: Members,
) => field<ObjectOf<Members>>({ ...object(description, properties), period: dates });

function requiredOf(properties: Fields): readonly string[] {
  return Object.keys(properties).filter((name) => properties[name]?.optional !== true);
}

/** Whether two dates are in order; true if either is absent. Dates of this form compare as text. */
export function inOrder(start: unknown, end: unknown): boolean {
  return typeof start !== "string" || typeof end !== "string" || start <= end;
}
