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

/** Why a field is personal, so that an erasure removes it. `identifies`: its text alone identifies a person, and is searched for elsewhere. */
export type PersonalReason = "identifies" | "free text" | "who stayed";

/** A question about a field that the specification leaves open, and Bellhop's rule. Fields that share one share the object. */
export interface FieldGap {
  /** What is not specified: a noun phrase, or a clause with "whether". */
  readonly open: string;
  /** Markdown. */
  readonly answer: string;
}

/** What a field means to Bellhop, besides the values that it takes. */
export interface FieldNotes {
  /**
   * The number under which versions store its value, so that SQL and figures read it without the record: unique among the facts of a record
   * and its lists. A new fact gets the next free number. A storage format: never changed, never used again.
   */
  readonly fact?: number;
  /** Its column in SQL, where that is not its own name in snake case. */
  readonly sql?: string;
  /** What the record is known by. `correlationId` and the source time are not content. */
  readonly role?: "clientCode" | "propertyCode" | "key" | "sourceTime" | "status" | "correlationId";
  /** Warnings read it, though it is no fact. All dates, times and counts are checked. */
  readonly checked?: true;
  readonly personal?: PersonalReason;
  readonly gap?: FieldGap | readonly FieldGap[];
}

/** Facts of the items of a list that are not members of them. */
interface ItemNotes {
  /** The position of the stay that an item belongs to. */
  readonly stayFact?: number;
  /** Whether a room type is virtual. */
  readonly virtualFact?: number;
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
  readonly notes?: FieldNotes;
  /** Of an object that is the item of a list. */
  readonly itemNotes?: ItemNotes;
}

declare const VALUE: unique symbol;

/** A schema and, for the compiler only, the type of the values that it takes. */
export interface Field<Value, Notes extends FieldNotes = FieldNotes> extends FieldSchema {
  readonly [VALUE]: Value;
  readonly notes: Notes;
}

interface OptionalField<Value, Notes extends FieldNotes = FieldNotes> extends Field<Value, Notes> {
  readonly optional: true;
}

type Fields = Readonly<Record<string, Field<unknown>>>;

/** The schema of an object, with its members for the compiler. */
export interface ObjectField<Members extends Fields = Fields> extends Field<ObjectOf<Members>> {
  readonly properties: Members;
}

/** The members of an object that are facts. */
export type FactName<Schema extends ObjectField> = {
  [Name in keyof Schema["properties"]]: Schema["properties"][Name]["notes"] extends { readonly fact: number }
    ? Name
    : never;
}[keyof Schema["properties"]] &
  string;

/** The members of an object whose spans are kept: facts, and what warnings read. */
export type KeptName<Schema extends ObjectField> =
  | FactName<Schema>
  | ({
      [Name in keyof Schema["properties"]]: Schema["properties"][Name]["notes"] extends {
        readonly checked: true;
      }
        ? Schema["properties"][Name]["notes"] extends { readonly role: string }
          ? never
          : Name
        : never;
    }[keyof Schema["properties"]] &
      string);

/** The type of the values that a schema takes. */
export type ValueOf<Schema> = Schema extends Field<infer Value> ? Value : never;

type OptionalNames<Members extends Fields> = {
  [Name in keyof Members]: Members[Name] extends OptionalField<unknown> ? Name : never;
}[keyof Members];

type ObjectOf<Members extends Fields> = {
  [Name in Exclude<keyof Members, OptionalNames<Members>>]: ValueOf<Members[Name]>;
} & { [Name in OptionalNames<Members>]?: ValueOf<Members[Name]> };

type NoNotes = Readonly<Record<never, never>>;

/** `own`: notes of all fields of the kind. */
function builder<Value, Example, Own extends FieldNotes = NoNotes>(
  fieldKind: FieldKind,
  limits: Pick<FieldSchema, "minLength" | "maxLength"> = {},
  own?: Own,
) {
  return <const Notes extends FieldNotes = NoNotes>(description: string, example: Example, notes?: Notes) =>
    ({ fieldKind, description, example, ...limits, notes: { ...own, ...notes } }) as FieldSchema as Field<
      Value,
      Own & Notes
    >;
}

const CHECKED = { checked: true } as const;
const CODE_LIMITS = { maxLength: CODE_CHARACTERS_MAX };

/** A free text, of at most 4,096 characters unless the field has another limit. Of a record, it is personal. */
export const text = <const Notes extends FieldNotes = NoNotes>(
  description: string,
  example: string,
  notes?: Notes,
  maxLength = TEXT_CHARACTERS_MAX,
) => builder<string, string>("text", { maxLength })(description, example, notes);

/** A code, id or status of at most 128 characters. */
export const code = builder<string, string>("code", CODE_LIMITS);

/** A code, id or status that must not be empty, because the record cannot be understood without it. */
export const identity = builder<string, string>("identity", { minLength: 1, ...CODE_LIMITS });

/** A currency by ISO 4217, of at most 128 characters: read in any case, with white space around it. */
export const currency = builder<string, string>("currency", CODE_LIMITS);

/** A calendar date `YYYY-MM-DD`. */
export const date = builder<string, string, typeof CHECKED>("date", {}, CHECKED);

/** A UTC time with a trailing Z; see `isUtcTimestamp`. */
export const timestamp = builder<string, string, typeof CHECKED>("timestamp", {}, CHECKED);

/** A whole number of 32 bits that counts something, as number or text. Below zero it is a warning, never a violation. */
export const count = builder<Quantity, number, typeof CHECKED>("count", {}, CHECKED);

/** A whole number of 32 bits, as number or text. */
export const integer = builder<Quantity, number>("integer");

/** A decimal of at most 38 digits, as number or text, never put through binary floating point. */
export const decimal = builder<Quantity, number | string>("decimal");

export const flag = builder<boolean, boolean>("boolean");

/** One of a fixed set of words. */
export const word = <const Words extends readonly string[]>(description: string, words: Words) => ({
  ...builder<Words[number], string | undefined>("word")(description, words[0]),
  enum: words,
});

/** true, false or a code: a field whose type the specification does not show. */
export const flagOrCode = builder<boolean | string, boolean>("flag-or-code");

/** A code or an object: items of a list whose type the specification does not show. */
export const codeOrObject = builder<string | object, string>("code-or-object");

/** A field that the specification shows as null too, or describes without a name: what it may be is open. */
export const nullable = <Value, Notes extends FieldNotes>(inner: Field<Value, Notes>) =>
  ({ ...inner, nullable: true }) as FieldSchema as Field<Value | null, Notes>;

/** A member of an object that may be left out. */
export const optional = <Value, Notes extends FieldNotes>(
  inner: Field<Value, Notes>,
): OptionalField<Value, Notes> => ({ ...inner, optional: true });

interface ListNotes extends Pick<FieldNotes, "personal" | "gap"> {
  readonly itemsMin?: number;
}

/** An array of at most 100,000 items. */
export const list = <Item>(
  description: string,
  items: Field<Item>,
  { itemsMin: minItems = 0, ...notes }: ListNotes = {},
) => ({ fieldKind: "array", description, items, minItems, notes }) as FieldSchema as Field<Item[]>;

interface ObjectNotes extends ItemNotes, Pick<FieldNotes, "gap"> {}

/** An object; fields that are not named in it are accepted and kept. */
export const object = <Members extends Fields>(
  description: string,
  properties: Members,
  { gap, ...itemNotes }: ObjectNotes = {},
) =>
  ({
    fieldKind: "object",
    description,
    properties,
    required: requiredOf(properties),
    notes: gap === undefined ? {} : { gap },
    itemNotes,
  }) as FieldSchema as ObjectField<Members>;

/** An object with a first and a last date, which must be in order (equal is legal). */
export const period = <Members extends Fields>(
  description: string,
  dates: readonly [string & keyof Members, string & keyof Members],
  properties: Members,
  notes: ObjectNotes = {},
): ObjectField<Members> => ({ ...object(description, properties, notes), period: dates });

function requiredOf(properties: Fields): readonly string[] {
  return Object.keys(properties).filter((name) => properties[name]?.optional !== true);
}

/** Whether two dates are in order; true if either is absent. Dates of this form compare as text. */
export function inOrder(start: unknown, end: unknown): boolean {
  return typeof start !== "string" || typeof end !== "string" || start <= end;
}
