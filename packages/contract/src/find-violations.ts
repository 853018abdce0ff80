import { isCalendarDate, isUtcTimestamp } from "./calendar.ts";
import { ExactNumber, integerValue, isDecimal, isInteger, isUnsafeLiteral } from "./decimal.ts";
import {
  CODE_CHARACTERS_MAX,
  countCharacters,
  type FieldKind,
  type FieldSchema,
  hasAtMost,
  ITEMS_MAX,
  inOrder,
  isObject,
  TEXT_CHARACTERS_MAX,
} from "./schema/field.ts";
import { pointerOf, quoted, type Violation, type ViolationCode } from "./violation.ts";

/** Collects violations: keeps at most `keptMax`, counts all, and writes a message only for what it keeps. */
export class ViolationList {
  readonly kept: Violation[];
  total: number;
  readonly path: (string | number)[];
  readonly #keptMax: number;

  constructor(index: number, keptMax: number, found: readonly Violation[], foundTotal: number) {
    this.kept = found.slice(0, keptMax);
    this.total = foundTotal;
    this.path = [index];
    this.#keptMax = keptMax;
  }

  /** Reports the value at the current path. `message` follows the field's name: "must be ...". */
  add(code: ViolationCode, message: () => string): void {
    this.total += 1;
    if (this.kept.length >= this.#keptMax) return;
    this.kept.push({ pointer: pointerOf(this.path), code, message: `${this.#subject()} ${message()}` });
  }

  /** The field as a person names it: `arrivalDate`, `item 2 of roomStays`, `the record`. */
  #subject(): string {
    const last = this.path.at(-1);
    if (typeof last === "string") return last;
    const holder = this.path.at(-2);
    return typeof holder === "string" ? `item ${last} of ${holder}` : "the record";
  }
}

/**
 * Walks a record beside its schema and reports all that is wrong with it. It runs only on records that `walkRecord` is not sure
 * of, and must agree with it (property tests hold the two together). Only the fields that the schema names
 * are walked, so every step of a pointer is a name of the contract. `required`: the value is a field that must be there.
 */
export function findViolations(
  schema: FieldSchema,
  value: unknown,
  found: ViolationList,
  required = false,
): void {
  if (value === null) {
    if (schema.nullable === true) return;
    const advice = required ? "send a value" : "leave it out or send a value";
    found.add("null", () => `must not be null; ${advice}`);
    return;
  }
  // What is unsafe was reported by the close look already, with the number as it was sent.
  if (value instanceof ExactNumber && isUnsafeLiteral(value.source)) return;
  if (schema.fieldKind === "object") inObject(schema, value, found);
  else if (schema.fieldKind === "array") inArray(schema, value, found);
  else LEAVES[schema.fieldKind](value, found, schema);
}

function inObject(schema: FieldSchema, value: unknown, found: ViolationList): void {
  if (!isObject(value)) {
    wrongType("an object", value, found);
    return;
  }
  const properties = schema.properties ?? {};
  // JSON has no undefined, and no member of the contract is named like what every object inherits (a test says so).
  for (const name of schema.required ?? []) {
    if (value[name] !== undefined) continue;
    found.path.push(name);
    found.add("required", () => "is required");
    found.path.pop();
  }
  for (const name in properties) {
    const member = value[name];
    if (member === undefined) continue;
    found.path.push(name);
    const isRequired = member === null && schema.required?.includes(name) === true;
    findViolations(properties[name] as FieldSchema, member, found, isRequired);
    found.path.pop();
  }
  if (schema.period !== undefined) inPeriod(schema.period, value, found);
}

function inPeriod(
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

function inArray(schema: FieldSchema, value: unknown, found: ViolationList): void {
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

type Leaf = (value: unknown, found: ViolationList, schema: FieldSchema) => void;

const LEAVES: Readonly<Record<Exclude<FieldKind, "object" | "array">, Leaf>> = {
  text: (value, found) => ofLength(value, TEXT_CHARACTERS_MAX, found),
  code: (value, found) => ofLength(value, CODE_CHARACTERS_MAX, found),
  identity: (value, found) => {
    if (value === "") found.add("length", () => "must not be empty");
    else ofLength(value, CODE_CHARACTERS_MAX, found);
  },
  date: (value, found) => {
    if (typeof value !== "string") wrongType("a text with a date as YYYY-MM-DD", value, found);
    else if (!isCalendarDate(value)) {
      found.add("format.date", () => `must be a calendar date as YYYY-MM-DD; got ${quoted(value)}`);
    }
  },
  timestamp: (value, found) => {
    if (typeof value !== "string") wrongType("a text with a UTC time as YYYY-MM-DDThh:mm:ssZ", value, found);
    else if (!isUtcTimestamp(value)) {
      found.add(
        "format.timestamp",
        () => `must be a UTC time as YYYY-MM-DDThh:mm:ssZ, at most 6 fractional digits; got ${quoted(value)}`,
      );
    }
  },
  count: wholeNumber,
  integer: wholeNumber,
  decimal: (value, found) => {
    if (isDecimal(value)) return;
    if (!isNumeric(value)) {
      wrongType("a number or a numeric text", value, found);
      return;
    }
    found.add(
      "number.decimal",
      () => `must be a decimal number of at most 38 digits, like 12.50; got ${shown(value)}`,
    );
  },
  boolean: (value, found) => {
    if (typeof value !== "boolean") wrongType("true or false", value, found);
  },
  word: (value, found, schema) => {
    const words = schema.enum ?? [];
    if (typeof value !== "string") wrongType("a text", value, found);
    else if (!words.includes(value)) {
      found.add("enum", () => `must be one of ${words.join(", ")}; got ${quoted(value)}`);
    }
  },
  "flag-or-code": (value, found) => {
    if (typeof value === "string") ofLength(value, CODE_CHARACTERS_MAX, found);
    else if (typeof value !== "boolean") wrongType("true, false or a text", value, found);
  },
  "code-or-object": (value, found) => {
    if (typeof value === "string") ofLength(value, CODE_CHARACTERS_MAX, found);
    else if (!isObject(value)) wrongType("a text or an object", value, found);
  },
};

function wholeNumber(value: unknown, found: ViolationList): void {
  if (isInteger(value)) return;
  if (!isNumeric(value)) {
    wrongType("a whole number or a text of digits", value, found);
    return;
  }
  if (integerValue(value) === undefined) {
    found.add("number.integer", () => `must be a whole number, like 2 or "2"; got ${shown(value)}`);
  } else {
    found.add("number.range", () => `must fit 32 bits (-2147483648 to 2147483647); got ${shown(value)}`);
  }
}

function ofLength(value: unknown, charactersMax: number, found: ViolationList): void {
  if (typeof value !== "string") {
    wrongType("a text", value, found);
    return;
  }
  if (hasAtMost(value, charactersMax)) return;
  found.add("length", () => `must have at most ${charactersMax} characters; got ${countCharacters(value)}`);
}

/** Says which type was sent, never the value: it may be a guest's name. */
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
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number" || value instanceof ExactNumber) return "a number";
  if (typeof value === "string") return "a text";
  return typeof value === "boolean" ? "true or false" : "an object";
}
