import { isCalendarDate, isUtcTimestamp } from "./calendar.ts";
import { currencyOf } from "./currencies.ts";
import {
  DECIMAL_DIGITS_MAX,
  decimalText,
  ExactNumber,
  integerValue,
  isDecimal,
  isInteger,
} from "./decimal.ts";
import { didYouMean, nearest } from "./nearest.ts";
import {
  CODE_CHARACTERS_MAX,
  countCharacters,
  type FieldKind,
  type FieldSchema,
  hasAtMost,
  ITEMS_MAX,
  inOrder,
  isBlank,
  isObject,
} from "./schema/field.ts";
import { pointerOf, quoted, type Violation, type ViolationCode } from "./violation.ts";
import { FRACTION_DIGITS_MAX } from "./walk-value.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export type SqlType = "text" | "boolean" | "integer" | "bigint" | "numeric" | "date" | "timestamptz";

interface KindRules {
  /** Its type in the field reference. */
  readonly reference: (schema: FieldSchema) => string;
  readonly openApi: (schema: FieldSchema) => JsonSchema;
  /** Reports the violations of a non-null value. */
  readonly check: (value: unknown, found: ViolationList, schema: FieldSchema) => void;
  /** The text of a valid value as a fact; null if it is absent, undefined if its PostgreSQL type would not read it. */
  readonly fact?: (value: unknown) => string | null | undefined;
  /** The PostgreSQL type of a fact. */
  readonly sql?: SqlType;
  /** Keys of WALK: when checking a record, and when keeping the span of the value. */
  readonly walk: readonly [check: WalkKind, kept: WalkKind];
}

/** How a member's value is walked. Numbers for speed. */
export const WALK = {
  skip: 0,
  text: 1,
  /** A text that is absent if it is blank. */
  optionalText: 2,
  currency: 3,
  date: 4,
  timestamp: 5,
  whole: 6,
  decimal: 7,
  array: 8,
  object: 9,
  /** Kinds used only by checks. */
  boundedText: 10,
  boolean: 11,
  flagOrCode: 12,
  codeOrObject: 13,
  unknown: 14,
  /** Ends the walk. */
  stop: 15,
} as const;

type WalkKind = keyof typeof WALK;

/** The number of suggestions ("did you mean") given in a batch, at most SUGGESTIONS_MAX. */
export interface SuggestionCount {
  given: number;
}

const SUGGESTIONS_MAX = 20;

/** Collects violations: counts all, but keeps at most `keptMax` and formats messages only for those. */
export class ViolationList {
  readonly kept: Violation[];
  total: number;
  readonly path: (string | number)[];
  readonly #keptMax: number;
  readonly #suggestions: SuggestionCount;
  readonly #whole: string;
  /** Whether null in an optional field is read as if the field were omitted. */
  readonly nullsAbsent: boolean;

  constructor(
    index: number,
    keptMax: number,
    found: readonly Violation[],
    foundTotal: number,
    suggestions: SuggestionCount = { given: 0 },
    whole = "the record",
    nullsAbsent = false,
  ) {
    this.kept = found.slice(0, keptMax);
    this.total = foundTotal;
    this.path = [index];
    this.#keptMax = keptMax;
    this.#suggestions = suggestions;
    this.#whole = whole;
    this.nullsAbsent = nullsAbsent;
  }

  /** A suggestion for the end of a message; "" once the batch has had SUGGESTIONS_MAX. */
  suggest(suggestion: () => string): string {
    if (this.#suggestions.given === SUGGESTIONS_MAX) return "";
    this.#suggestions.given += 1;
    return suggestion();
  }

  /** Reports the value at the current path. `message` follows the field's name: "must be ...". */
  add(code: ViolationCode, message: () => string): void {
    this.total += 1;
    if (this.kept.length >= this.#keptMax) return;
    this.kept.push({ pointer: pointerOf(this.path), code, message: `${this.#subject()} ${message()}` });
  }

  /** The field in prose: `arrivalDate`, `item 2 of roomStays`, `the record`. */
  #subject(): string {
    const last = this.path.at(-1);
    if (typeof last === "string") return last;
    const holder = this.path.at(-2);
    return typeof holder === "string" ? `item ${last} of ${holder}` : this.#whole;
  }
}

/** Where a null is: an item of an array cannot be omitted. */
type Place = "required" | "optional" | "item";

const NULL_ADVICE: Readonly<Record<Place, string>> = {
  required: "send a value",
  optional:
    "leave it out (Jackson: NON_NULL; Gson: no serializeNulls; System.Text.Json: WhenWritingNull) or send a value",
  item: "leave it out or send a value",
};

/**
 * Reports all violations of a schema. Runs on records that `walkRecord` cannot decide, and must agree with it (a property test compares
 * both).
 */
export function findViolations(
  schema: FieldSchema,
  value: unknown,
  found: ViolationList,
  place: Place = "item",
): void {
  if (value === null) {
    if (schema.nullable === true || (place === "optional" && found.nullsAbsent)) return;
    found.add("null", () => `must not be null; ${NULL_ADVICE[place]}`);
    return;
  }
  FIELD_KINDS[schema.fieldKind].check(value, found, schema);
}

function checkObject(value: unknown, found: ViolationList, schema: FieldSchema): void {
  if (!isObject(value)) {
    wrongType("an object", value, found);
    return;
  }
  const properties = schema.properties ?? {};
  // JSON has no undefined, and no contract member has the name of an inherited property (a test checks this).
  for (const name of schema.required ?? []) {
    if (value[name] !== undefined) continue;
    found.path.push(name);
    found.add("required", () => `is required${found.suggest(() => misspelled(name, value, properties))}`);
    found.path.pop();
  }
  for (const name in properties) {
    const member = value[name];
    if (member === undefined) continue;
    found.path.push(name);
    // Only null depends on the place, and it is rare.
    const place = member === null && schema.required?.includes(name) !== true ? "optional" : "required";
    findViolations(properties[name] as FieldSchema, member, found, place);
    found.path.pop();
  }
  if (schema.period !== undefined) checkPeriod(schema.period, value, found);
}

/** The unknown field of an object that resembles a missing one. */
function misspelled(missing: string, value: object, properties: object): string {
  const sent = nearest(
    missing,
    Object.keys(value).filter((name) => !Object.hasOwn(properties, name)),
  );
  return sent === undefined ? "" : `; got ${quoted(sent)} (did you mean ${missing}?)`;
}

function checkPeriod(
  [first, last]: readonly [string, string],
  value: Record<string, unknown>,
  found: ViolationList,
): void {
  const start = value[first];
  const end = value[last];
  if (typeof start !== "string" || typeof end !== "string" || !isCalendarDate(start) || !isCalendarDate(end))
    return;
  if (inOrder(start, end)) return;
  found.path.push(last);
  found.add("order.dates", () => `must not be before ${first}; got ${end} before ${start}`);
  found.path.pop();
}

function checkArray(value: unknown, found: ViolationList, schema: FieldSchema): void {
  if (!Array.isArray(value)) {
    wrongType("an array", value, found);
    return;
  }
  const itemsMin = schema.minItems ?? 0;
  if (value.length < itemsMin) found.add("required", () => `must have at least ${itemsMin} item`);
  if (value.length > ITEMS_MAX) {
    found.add("length", () => `must have at most ${ITEMS_MAX} items; got ${value.length}`);
    return;
  }
  for (let at = 0; at < value.length; at += 1) {
    found.path.push(at);
    findViolations(schema.items as FieldSchema, value[at], found);
    found.path.pop();
  }
}

function checkWhole(value: unknown, found: ViolationList): void {
  if (isInteger(value)) return;
  if (!isNumeric(value)) {
    wrongType("an integer or a string of digits", value, found);
    return;
  }
  if (integerValue(value) === undefined) {
    found.add("number.integer", () => `must be an integer, like 2 or "2"; got ${shown(value)}`);
  } else {
    found.add("number.range", () => `must fit 32 bits (-2147483648 to 2147483647); got ${shown(value)}`);
  }
}

function checkText(value: unknown, found: ViolationList, charactersMax: number): void {
  if (typeof value !== "string") {
    wrongType("a string", value, found);
    return;
  }
  if (hasAtMost(value, charactersMax)) return;
  found.add("length", () => `must have at most ${charactersMax} characters; got ${countCharacters(value)}`);
}

/** Reports the type of a value, never the value, which may be a guest's name. */
function wrongType(expected: string, value: unknown, found: ViolationList): void {
  found.add("type", () => `must be ${expected}; got ${typeName(value)}`);
}

function isNumeric(value: unknown): value is number | string | ExactNumber {
  return typeof value === "number" || typeof value === "string" || value instanceof ExactNumber;
}

function shown(value: number | string | ExactNumber): string {
  if (typeof value === "string") return quoted(value);
  return value instanceof ExactNumber ? quoted(value.source).slice(1, -1) : String(value);
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return value instanceof ExactNumber ? "number" : typeof value;
}

/** A string without NUL. */
const textSchema = ({ minLength, maxLength }: Pick<FieldSchema, "minLength" | "maxLength">): JsonSchema => ({
  type: "string",
  ...(minLength === undefined ? {} : { minLength }),
  maxLength,
  pattern: "^[^\\u0000]*$",
});
const CODE_SCHEMA = textSchema({ maxLength: CODE_CHARACTERS_MAX });

const TEXT: KindRules = {
  reference: ({ minLength, maxLength }) =>
    `string, ${minLength === undefined ? "at most" : `${minLength} to`} ${maxLength} characters`,
  openApi: textSchema,
  check: (value, found, { minLength, maxLength }) => {
    if (value === "" && minLength !== undefined) found.add("length", () => "must not be empty");
    else checkText(value, found, maxLength as number);
  },
  fact: (value) => (typeof value === "string" ? value : undefined),
  sql: "text",
  walk: ["boundedText", "text"],
};

/** An optional text: systems send an empty or blank one where they have none. */
const OPTIONAL_TEXT: KindRules = {
  ...TEXT,
  fact: (value) => (typeof value === "string" ? (isBlank(value) ? null : value) : undefined),
  walk: ["boundedText", "optionalText"],
};

const WHOLE: KindRules = {
  reference: () => "integer",
  openApi: () => ({
    anyOf: [
      { type: "integer", format: "int32", minimum: -2_147_483_648, maximum: 2_147_483_647 },
      {
        type: "string",
        maxLength: 64,
        pattern: "^-?[0-9]+([.]0+)?$",
        description: "A string of digits whose value fits 32 bits.",
      },
    ],
  }),
  check: checkWhole,
  fact: (value) => (isInteger(value) ? String(integerValue(value)) : undefined),
  sql: "integer",
  walk: ["whole", "whole"],
};

/** The rules of each kind: validation, facts, OpenAPI, field reference, and the walk over a record's bytes. */
export const FIELD_KINDS: Readonly<Record<FieldKind, KindRules>> = {
  text: OPTIONAL_TEXT,
  code: OPTIONAL_TEXT,
  identity: TEXT,
  currency: {
    ...TEXT,
    fact: (value) => (typeof value === "string" ? currencyOf(value) : undefined),
    walk: ["boundedText", "currency"],
  },
  date: {
    reference: () => "date",
    openApi: () => ({ type: "string", format: "date", minLength: 10, maxLength: 10 }),
    check: (value, found) => {
      if (typeof value !== "string") wrongType("a string with a date as YYYY-MM-DD", value, found);
      else if (!isCalendarDate(value))
        found.add("format.date", () => `must be a calendar date as YYYY-MM-DD; got ${quoted(value)}`);
    },
    fact: (value) => (typeof value === "string" && isCalendarDate(value) ? value : undefined),
    sql: "date",
    walk: ["date", "date"],
  },
  timestamp: {
    reference: () => "timestamp",
    openApi: () => ({
      type: "string",
      format: "date-time",
      minLength: 17,
      maxLength: 30,
      pattern: `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,${FRACTION_DIGITS_MAX}})?)?Z$`,
    }),
    check: (value, found) => {
      if (typeof value !== "string")
        wrongType("a string with a UTC time as YYYY-MM-DDThh:mm:ssZ or YYYY-MM-DDThh:mmZ", value, found);
      else if (!isUtcTimestamp(value)) {
        const expected = `must be a UTC time as YYYY-MM-DDThh:mm:ssZ, at most ${FRACTION_DIGITS_MAX} fractional digits, or YYYY-MM-DDThh:mmZ`;
        found.add("format.timestamp", () => `${expected}; got ${quoted(value)}`);
      }
    },
    fact: (value) => (typeof value === "string" && isUtcTimestamp(value) ? value : undefined),
    sql: "timestamptz",
    walk: ["timestamp", "timestamp"],
  },
  count: WHOLE,
  integer: WHOLE,
  decimal: {
    reference: () => "decimal",
    openApi: () => ({
      anyOf: [
        { type: "number" },
        {
          type: "string",
          maxLength: 64,
          pattern: "^-?[0-9]+([.][0-9]+)?$",
          description: `A numeric string of at most ${DECIMAL_DIGITS_MAX} digits, without an exponent.`,
        },
      ],
    }),
    check: (value, found) => {
      if (isDecimal(value)) return;
      if (!isNumeric(value)) {
        wrongType("a number or a numeric string", value, found);
        return;
      }
      const expected = `must be a decimal of at most ${DECIMAL_DIGITS_MAX} digits, as a number or a string without an exponent, like "12.50"`;
      found.add("number.decimal", () => `${expected}; got ${shown(value)}`);
    },
    fact: (value) => (isDecimal(value) ? decimalText(value) : undefined),
    sql: "numeric",
    walk: ["decimal", "decimal"],
  },
  boolean: {
    reference: () => "boolean",
    openApi: () => ({ type: "boolean" }),
    check: (value, found) => {
      if (typeof value !== "boolean") wrongType("a boolean", value, found);
    },
    walk: ["boolean", "skip"],
  },
  word: {
    reference: ({ enum: words = [] }) => `one of ${words.join(", ")}`,
    openApi: (schema) => ({ type: "string", enum: [...(schema.enum ?? [])] }),
    check: (value, found, schema) => {
      const words = schema.enum ?? [];
      if (typeof value !== "string") wrongType("a string", value, found);
      else if (!words.includes(value))
        found.add("enum", () => {
          const meant = found.suggest(() => didYouMean(value, words));
          return `must be one of ${words.join(", ")}; got ${quoted(value)}${meant}`;
        });
    },
    // Does not occur in records.
    walk: ["stop", "skip"],
  },
  "flag-or-code": {
    reference: () => `boolean, or string of at most ${CODE_CHARACTERS_MAX} characters`,
    openApi: () => ({ anyOf: [{ type: "boolean" }, CODE_SCHEMA] }),
    check: (value, found) => {
      if (typeof value === "string") checkText(value, found, CODE_CHARACTERS_MAX);
      else if (typeof value !== "boolean") wrongType("a boolean or a string", value, found);
    },
    walk: ["flagOrCode", "skip"],
  },
  "code-or-object": {
    reference: () => `string of at most ${CODE_CHARACTERS_MAX} characters, or object`,
    openApi: () => ({ anyOf: [CODE_SCHEMA, { type: "object" }] }),
    check: (value, found) => {
      if (typeof value === "string") checkText(value, found, CODE_CHARACTERS_MAX);
      else if (!isObject(value)) wrongType("a string or an object", value, found);
    },
    walk: ["codeOrObject", "skip"],
  },
  array: {
    reference: ({ minItems, items }) => {
      const item = items as FieldSchema;
      const listed = item.fieldKind === "object" ? "objects" : FIELD_KINDS[item.fieldKind].reference(item);
      return `array of ${listed}, ${minItems ? `${minItems} to` : "at most"} ${ITEMS_MAX}`;
    },
    openApi: (schema) => ({
      type: "array",
      ...(schema.minItems ? { minItems: schema.minItems } : {}),
      maxItems: ITEMS_MAX,
      items: toOpenApi(schema.items as FieldSchema),
    }),
    check: checkArray,
    walk: ["array", "array"],
  },
  object: {
    reference: () => "object",
    openApi: (schema) => ({
      type: "object",
      ...((schema.required ?? []).length > 0 ? { required: [...(schema.required ?? [])] } : {}),
      properties: Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, property]) => [name, toOpenApi(property)]),
      ),
      additionalProperties: true,
    }),
    check: checkObject,
    walk: ["object", "object"],
  },
};

/** Converts a schema to JSON Schema 2020-12. */
export function toOpenApi(schema: FieldSchema): JsonSchema {
  const described: JsonSchema = {
    description: schema.description,
    ...FIELD_KINDS[schema.fieldKind].openApi(schema),
  };
  const example = schema.example === undefined ? {} : { examples: [schema.example] };
  return { ...described, ...(schema.nullable ? orNull(described) : {}), ...example };
}

/** The keywords of a schema that change if null is accepted too. */
function orNull({ anyOf, type }: JsonSchema): JsonSchema {
  return Array.isArray(anyOf) ? { anyOf: [...anyOf, { type: "null" }] } : { type: [type, "null"] };
}
