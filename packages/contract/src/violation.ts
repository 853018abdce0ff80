/** Every violation code and its meaning. Codes are never reused or renamed. `docs/records.md` lists them (checked by a test). */
export const VIOLATION_CODES = {
  "json.syntax": "The body is not JSON (RFC 8259); the message says where and what was expected.",
  "json.depth": "Arrays and objects are nested deeper than the limit.",
  "json.size": "A record is larger than 8 MiB.",
  "json.values": "A record has more than 250,000 values, or the batch more than 4,000,000.",
  type: "The value has a JSON type that this field does not accept.",
  required: "A required field is missing, or an array has fewer items than it must have.",
  null: "The field does not accept null: send a value, or omit an optional field.",
  length: "A string or an array is longer than its limit, or a required code is empty.",
  enum: "The value is not one of the allowed values.",
  "format.date": "Not a calendar date in the form YYYY-MM-DD, years 0001 to 9999.",
  "format.timestamp":
    "Not a UTC time in the form YYYY-MM-DDThh:mm:ssZ, with at most 9 fractional digits, or YYYY-MM-DDThh:mmZ.",
  "number.integer": "Not an integer, as a JSON number or a string of digits.",
  "number.range":
    "An integer that does not fit 32 bits, or a count below zero if your operator refuses such counts.",
  "number.decimal":
    "Not a decimal of at most 38 digits, as a JSON number or a numeric string without an exponent.",
  "number.unsafe":
    "A JSON number of an unknown field outside the range of a double: above 1.8e308, or so small that it rounds to zero. Send a string.",
  "order.dates": "A period ends before it starts.",
  "name.duplicate": "A field name occurs twice in one object.",
  "name.forbidden": "The field names __proto__, constructor and prototype are not allowed.",
  "text.surrogate": "A string or a field name has an unpaired surrogate (\\ud800 to \\udfff).",
  "text.nul": "A string or a field name has the character NUL (\\u0000).",
} as const;

export type ViolationCode = keyof typeof VIOLATION_CODES;

/**
 * A reason for refusing a record. `pointer` is an RFC 6901 JSON pointer into the batch (`/3/roomStays/0/arrivalDate`). `message` is safe
 * to log: at most 240 printable ASCII characters, and never a value of a free text field.
 */
export interface Violation {
  readonly pointer: string;
  readonly code: ViolationCode;
  readonly message: string;
}

/** Shared by all valid records, to avoid allocations. */
export const NO_VIOLATIONS: readonly Violation[] = Object.freeze([]);

/** The path from the batch to a value: record index, then field names and array indexes. */
export type PointerPath = readonly (string | number)[];

// Unknown fields may have names of any length.
const POINTER_CHARACTERS_MAX = 512;

/**
 * The RFC 6901 pointer of a path. Ends at the enclosing object if a name is ill-formed Unicode, contains NUL, or would make the pointer
 * longer than 512 characters, so that it can always be stored.
 */
export function pointerOf(path: PointerPath): string {
  let pointer = "";
  for (const step of path) {
    const token = typeof step === "number" ? String(step) : step.replaceAll("~", "~0").replaceAll("/", "~1");
    if (pointer.length + token.length >= POINTER_CHARACTERS_MAX) break;
    if (!token.isWellFormed() || token.includes("\0")) break;
    pointer += `/${token}`;
  }
  return pointer;
}

const SHOWN_CHARACTERS_MAX = 40;

/** Quotes a text from a partner for logs and messages: truncated to 40 characters, with all but printable ASCII escaped. */
export function quoted(text: string): string {
  const cut = text.length > SHOWN_CHARACTERS_MAX ? text.slice(0, SHOWN_CHARACTERS_MAX) : text;
  const escaped = JSON.stringify(cut).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return cut === text ? escaped : `${escaped.slice(0, -1)}..."`;
}
