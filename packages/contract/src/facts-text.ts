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

// ASCII that neither rows nor arrays give a meaning: letters, digits, and marks but these.
const IS_PLAIN = new Uint8Array(128).fill(1, 0x21, 0x7f);
for (const letter of Buffer.from('"\\,{}()')) IS_PLAIN[letter] = 0;
const TO_ESCAPE = /["\\]/;
const ALL_TO_ESCAPE = /["\\]/g;
const QUOTE = 0x22;

/** Whether a text means itself without quotes. A loop, since codes are short and there are some forty in a record. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (IS_PLAIN[text.charCodeAt(at)] !== 1) return false;
  return text.length > 0;
}

function quoted(text: string): string {
  return `"${TO_ESCAPE.test(text) ? text.replace(ALL_TO_ESCAPE, "\\$&") : text}"`;
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
  return isPlain(value) ? value : quoted(value);
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
  if (items.length === 1) {
    const element = elementOf(items[0] as Item, 0);
    if (element === null) return "";
    return isQuoted(element) ? quoted(`{${element}}`) : `{${element}}`;
  }
  let text = "";
  let isGiven = false;
  let hasQuotes = false;
  for (let at = 0; at < items.length; at += 1) {
    const element = elementOf(items[at] as Item, at);
    if (at > 0) text += ",";
    if (element === null) text += "NULL";
    else {
      isGiven = true;
      hasQuotes ||= isQuoted(element);
      text += element;
    }
  }
  if (!isGiven) return "";
  return hasQuotes ? quoted(`{${text}}`) : `"{${text}}"`;
}

function isQuoted(element: string): boolean {
  return element.charCodeAt(0) === QUOTE;
}

/** The fields of a row that hold one array each of what is told of the same items. */
export function arrayFields<Item>(
  items: readonly Item[],
  elements: readonly ((item: Item, at: number) => string | null)[],
): string[] {
  if (items.length === 0) return new Array<string>(elements.length).fill("");
  return elements.map((elementOf) => arrayField(items, elementOf));
}

/** A text as an element of an array. The word NULL, in any case, would be no text unless it is quoted. */
export function textElement(value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (!isPlain(value) || (value.length === 4 && value.toUpperCase() === "NULL")) return quoted(value);
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
