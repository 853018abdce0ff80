import { isCalendarDate, isUtcTimestamp } from "./calendar.ts";
import { decimalText, integerValue, isDecimal, type Quantity } from "./decimal.ts";

/**
 * A value that its type in PostgreSQL would not read. Records are checked before, so this is a fault of ours; it is found
 * before the text is stored, since a text that cannot be read would fail every view over it.
 */
export class UnstorableFact extends Error {}

const refuse = (what: string): never => {
  throw new UnstorableFact(`A fact is not ${what}.`);
};

// Letters, digits and what dates, times and decimals have: neither rows nor arrays give these a meaning.
const PLAIN = /^[\w.:-]+$/;
const TO_ESCAPE = /["\\]/g;
const TO_ESCAPE_ONE = /["\\]/;

function quoted(text: string): string {
  return `"${TO_ESCAPE_ONE.test(text) ? text.replace(TO_ESCAPE, "\\$&") : text}"`;
}

/**
 * The text form of a row: PostgreSQL's own (manual, "Composite Types", section "Composite Type Input and Output Syntax").
 * The fields stand in the order of the type's columns, each as one of the functions of this file writes it.
 */
export function rowText(fields: readonly string[]): string {
  return `(${fields.join(",")})`;
}

/** A field of a row: what an element function gives, where nothing at all is null. */
export function field(value: string | null): string {
  return value ?? "";
}

/** A text as a field of a row. */
export function textField(value: string | null | undefined): string {
  if (value === null || value === undefined) return "";
  return PLAIN.test(value) ? value : quoted(value);
}

/** A UTC time as a field of a row. */
export function timeField(value: string | null | undefined): string {
  if (value === null || value === undefined) return "";
  return isUtcTimestamp(value) ? value : refuse("a UTC time");
}

/**
 * An array as a field of a row (manual, "Arrays", section "Array Input and Output Syntax"). An array in which every
 * element is null, or that has none, is null: unnested beside arrays with elements it reads the same.
 */
export function arrayField<Item>(
  items: readonly Item[],
  elementOf: (item: Item, at: number) => string | null,
): string {
  let text = "";
  let isGiven = false;
  for (let at = 0; at < items.length; at += 1) {
    const element = elementOf(items[at] as Item, at);
    if (element !== null) isGiven = true;
    text += at === 0 ? (element ?? "NULL") : `,${element ?? "NULL"}`;
  }
  if (!isGiven) return "";
  if (items.length === 1 && !text.includes('"')) return `{${text}}`;
  return quoted(`{${text}}`);
}

/** A text as an element of an array. The word NULL, in any case, would be no text unless it is quoted. */
export function textElement(value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (!PLAIN.test(value) || (value.length === 4 && value.toUpperCase() === "NULL")) return quoted(value);
  return value;
}

/** A calendar date, as an element or field. */
export function dateElement(value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return isCalendarDate(value) ? value : refuse("a calendar date");
}

/** A whole number of 32 bits, as an element or field. */
export function integerElement(value: Quantity | undefined): string | null {
  if (value === undefined) return null;
  const integer = integerValue(value);
  return integer !== undefined && integer === (integer | 0)
    ? String(integer)
    : refuse("a whole number of 32 bits");
}

/** An exact decimal without an exponent, as an element or field. */
export function decimalElement(value: Quantity | undefined): string | null {
  if (value === undefined) return null;
  return isDecimal(value) ? decimalText(value) : refuse("a decimal of 38 digits");
}

/** A truth value, as an element or field. */
export function booleanElement(value: boolean): string {
  return value ? "t" : "f";
}
