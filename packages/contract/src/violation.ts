/**
 * Every reason for which a record is refused: a stable code and what it means. A code is never reused or renamed;
 * `docs/records.md` lists the same ones (a test holds it to this table).
 */
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
 * One reason for which a record is refused. `pointer` is an RFC 6901 JSON pointer into the batch as sent
 * (`/3/roomStays/0/arrivalDate`); `message` is safe to log and to send: at most 240 printable ASCII characters,
 * and never a value of a free text field (a guest's name).
 */
export interface Violation {
  readonly pointer: string;
  readonly code: ViolationCode;
  readonly message: string;
}

/** No violations: one frozen array, shared, so that a valid record costs no allocation. */
export const NO_VIOLATIONS: readonly Violation[] = Object.freeze([]);

/** The steps from the batch to a value: record index, then field names and array indexes. */
export type PointerPath = readonly (string | number)[];

// A partner's unknown fields may have names of any length; a pointer longer than this names the nearest ancestor instead.
const POINTER_CHARACTERS_MAX = 512;

/**
 * The RFC 6901 pointer of a path. Where a name is ill-formed Unicode, has NUL, or would make the pointer longer than
 * 512 characters, the pointer ends at the object that holds it, so that it is always valid and can always be stored.
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

/**
 * A text from a partner, quoted and cut to 40 characters, with everything but printable ASCII escaped: safe in a log
 * line, a terminal and a JSON body.
 */
export function quoted(text: string): string {
  const cut = text.length > SHOWN_CHARACTERS_MAX ? text.slice(0, SHOWN_CHARACTERS_MAX) : text;
  const escaped = JSON.stringify(cut).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return cut === text ? escaped : `${escaped.slice(0, -1)}..."`;
}
