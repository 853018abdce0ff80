import { freeMemory } from "../runtime/free-memory.ts";

// PostgreSQL's numeric_send: four numbers of two bytes (how many digits, the weight of the first, the sign, how many decimals
// are shown), then digits to the base 10,000.
const BASE = 10_000;
const DIGITS_A_GROUP = 4;
const NEGATIVE = 0x4000;
const HEAD_BYTES = 8;

/** Most bytes that `writeNumeric` takes for a text. */
function numericBytesMax(text: string): number {
  return HEAD_BYTES + 2 * (Math.ceil(text.length / DIGITS_A_GROUP) + 2);
}

/** A whole number of ten-thousandths as a plain decimal text, as short as it can be written. */
function textOfUnits(units: number): string {
  const left = Math.abs(units);
  let fraction = left % BASE === 0 ? "" : String(left % BASE).padStart(DIGITS_A_GROUP, "0");
  while (fraction.endsWith("0")) fraction = fraction.slice(0, -1);
  return `${units < 0 ? "-" : ""}${(left - (left % BASE)) / BASE}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Writes a plain decimal text (an optional minus, digits, an optional fraction) as a numeric; answers its end. */
function writeNumeric(text: string, to: Buffer, from: number): number {
  const isNegative = text.startsWith("-");
  const [whole = "", fraction = ""] = (isNegative ? text.slice(1) : text).split(".");
  const padded = (digits: number) => Math.ceil(digits / DIGITS_A_GROUP) * DIGITS_A_GROUP;
  const digits = whole.padStart(padded(whole.length), "0") + fraction.padEnd(padded(fraction.length), "0");
  const groups: number[] = [];
  for (let at = 0; at < digits.length; at += DIGITS_A_GROUP)
    groups.push(Number(digits.slice(at, at + DIGITS_A_GROUP)));
  let weight = padded(whole.length) / DIGITS_A_GROUP - 1;
  while (groups.length > 0 && groups[0] === 0) {
    groups.shift();
    weight -= 1;
  }
  while (groups.at(-1) === 0) groups.pop();
  const isZero = groups.length === 0;
  const sign = isNegative && !isZero ? NEGATIVE : 0;
  let at = from;
  for (const number of [groups.length, isZero ? 0 : weight, sign, fraction.length, ...groups]) {
    to[at] = number >>> 8;
    to[at + 1] = number;
    at += 2;
  }
  return at;
}

// PostgreSQL's manual, "Message Formats" and the types' receive functions: a field is its length and its value, big endian.
const NULL_LENGTH = -1;

const MICROSECONDS_A_SECOND = 1_000_000;
const SECONDS_A_DAY = 86_400;
const DAYS_BEFORE_2000 = 10_957;
const MICROSECONDS_BEFORE_2000 = DAYS_BEFORE_2000 * SECONDS_A_DAY * MICROSECONDS_A_SECOND;
/** Of an array of one dimension: dimensions, whether there are nulls, the type of elements, how many, the first one's number. */
const ARRAY_HEAD_BYTES = 20;
const BIGINT_ELEMENT_BYTES = 12;
const BIGINT_OID = 20;
const TWO_TO_32 = 2 ** 32;

const ASCII_MAX = 0x7f;
/** Texts up to this are most often codes in ASCII, of which a loop writes each faster than a call does. */
const SHORT_CHARACTERS_MAX = 32;

/** A hexadecimal digit's value by its code; 255 for any other. */
const HEX = new Uint8Array(256).fill(255);
for (const digits of ["0123456789abcdef", "0123456789ABCDEF"])
  for (let digit = 0; digit < 16; digit += 1) HEX[digits.charCodeAt(digit)] = digit;

/** Writes a text as UTF-8 and answers how many bytes it took. */
function writeText(value: string, to: Buffer, at: number): number {
  if (value.length > SHORT_CHARACTERS_MAX) return to.write(value, at, "utf8");
  for (let character = 0; character < value.length; character += 1) {
    const code = value.charCodeAt(character);
    if (code > ASCII_MAX) return to.write(value, at, "utf8");
    to[at + character] = code;
  }
  return value.length;
}

/** The number that two digits of a text spell. */
function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 0x30) * 10 + text.charCodeAt(at + 1) - 0x30;
}

/** Days from 1970-01-01 to a calendar date `YYYY-MM-DD` of the years 0001 to 9999, in the Gregorian calendar throughout. */
function daysSince1970(date: string): number {
  const month = twoDigits(date, 5);
  // Years that begin in March, so that the leap day is a year's last (Hinnant, "chrono-compatible low-level date algorithms").
  const year = twoDigits(date, 0) * 100 + twoDigits(date, 2) - (month <= 2 ? 1 : 0);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + twoDigits(date, 8) - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** A time `YYYY-MM-DDThh:mm:ss.ffffffZ`, as a timestamptz counts. */
function microsecondsSince2000(value: string): bigint {
  const secondOfDay = twoDigits(value, 11) * 3600 + twoDigits(value, 14) * 60 + twoDigits(value, 17);
  const seconds = (daysSince1970(value) - DAYS_BEFORE_2000) * SECONDS_A_DAY + secondOfDay;
  const fraction = twoDigits(value, 20) * 10_000 + twoDigits(value, 22) * 100 + twoDigits(value, 24);
  const microseconds = seconds * MICROSECONDS_A_SECOND + fraction;
  // Not before 1714 and after 2285.
  return Number.isSafeInteger(microseconds)
    ? BigInt(microseconds)
    : BigInt(seconds) * BigInt(MICROSECONDS_A_SECOND) + BigInt(fraction);
}

/**
 * Fields in the binary format that COPY and parameters of statements share. Measured for the rows of apply, it costs the
 * server two thirds of what text does, which it has to parse.
 */
export class BinaryFields {
  #bytes: Buffer;
  #size = 0;
  #uuid = "";
  #uuidBytes = Buffer.alloc(0);
  #time = "";
  #timeBytes = Buffer.alloc(8);

  /** Writes into this memory; if it is too small, frees it and makes more. */
  constructor(memory: Buffer) {
    this.#bytes = memory;
  }

  /** Bytes written so far. */
  get size(): number {
    return this.#size;
  }

  /** All that was written; nothing can be added then. */
  protected taken(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  protected get memory(): Buffer {
    return this.#bytes;
  }

  /** Bytes that are no field. */
  protected raw(bytes: Buffer): void {
    this.#room(bytes.length);
    this.#size += bytes.copy(this.#bytes, this.#size);
  }

  /** A number of two bytes that is no field. */
  protected rawSmallint(value: number): void {
    this.#room(2);
    this.#size = this.#bytes.writeInt16BE(value, this.#size);
  }

  null(): void {
    this.#length(NULL_LENGTH);
  }

  boolean(value: boolean): void {
    this.#length(1);
    this.#size = this.#bytes.writeUInt8(value ? 1 : 0, this.#size);
  }

  smallint(value: number): void {
    this.#length(2);
    this.#size = this.#bytes.writeInt16BE(value, this.#size);
  }

  integer(value: number): void {
    this.#length(4);
    this.#size = this.#bytes.writeInt32BE(value, this.#size);
  }

  /** A whole number that a double holds exactly. */
  bigint(value: number): void {
    this.#length(8);
    const high = Math.floor(value / TWO_TO_32);
    this.#bytes.writeInt32BE(high, this.#size);
    this.#size = this.#bytes.writeUInt32BE(value - high * TWO_TO_32, this.#size + 4);
  }

  /** A bigint as the two halves of its bits, each a whole number of 32 bits. */
  wide(high: number, low: number): void {
    this.#length(8);
    this.#size = this.#bytes.writeInt32BE(high | 0, this.#size);
    this.#size = this.#bytes.writeInt32BE(low | 0, this.#size);
  }

  /** An array of bigints, each given as the two halves of its bits, high and low. */
  wides(halves: Int32Array): void {
    const count = halves.length / 2;
    const length = ARRAY_HEAD_BYTES + BIGINT_ELEMENT_BYTES * count;
    this.#room(4 + length);
    const bytes = this.#bytes;
    let at = this.#size;
    for (const number of [length, 1, 0, BIGINT_OID, count, 1]) at = bytes.writeInt32BE(number, at);
    for (let half = 0; half < halves.length; half += 2) {
      at = bytes.writeInt32BE(8, at);
      at = bytes.writeInt32BE(halves[half] as number, at);
      at = bytes.writeInt32BE(halves[half + 1] as number, at);
    }
    this.#size = at;
  }

  /** A numeric: a plain decimal text, or a whole number of ten-thousandths that a double holds exactly. */
  numeric(value: string | number): void {
    const text = typeof value === "number" ? textOfUnits(value) : value;
    this.#room(4 + numericBytesMax(text));
    const start = this.#size + 4;
    const end = writeNumeric(text, this.#bytes, start);
    this.#bytes.writeInt32BE(end - start, this.#size);
    this.#size = end;
  }

  /** One ASCII letter, of PostgreSQL's type "char". */
  letter(value: string): void {
    this.#length(1);
    this.#size = this.#bytes.writeUInt8(value.charCodeAt(0), this.#size);
  }

  /** A uuid in its usual spelling: 8, 4, 4, 4 and 12 hexadecimal digits. Rows that follow one another often share one. */
  uuid(value: string): void {
    if (value !== this.#uuid) {
      this.#uuidBytes = Buffer.from(value.replaceAll("-", ""), "hex");
      if (this.#uuidBytes.length !== 16) throw new TypeError("not a uuid");
      this.#uuid = value;
    }
    this.#length(16);
    this.#size += this.#uuidBytes.copy(this.#bytes, this.#size);
  }

  /** The place of a row as PostgreSQL writes a tid: `(block,number)`. */
  place(value: string): void {
    const comma = value.indexOf(",");
    this.#length(6);
    this.#size = this.#bytes.writeUInt32BE(Number(value.slice(1, comma)), this.#size);
    this.#size = this.#bytes.writeUInt16BE(Number(value.slice(comma + 1, -1)), this.#size);
  }

  /** Bytes as hexadecimal digits, for bytea. */
  hex(digits: string): void {
    const bytes = digits.length >>> 1;
    this.#length(bytes);
    this.#room(bytes);
    // A loop, as a call that decodes sixteen bytes costs more than they do.
    let doubt = 0;
    for (let at = 0; at < bytes; at += 1) {
      const high = HEX[digits.charCodeAt(at * 2)] ?? 255;
      const low = HEX[digits.charCodeAt(at * 2 + 1)] ?? 255;
      doubt |= high | low;
      this.#bytes[this.#size + at] = (high << 4) | low;
    }
    if (doubt > 15) throw new TypeError("not hexadecimal digits");
    this.#size += bytes;
  }

  text(value: string): void {
    // A UTF-16 unit takes at most three bytes as UTF-8.
    this.#room(4 + value.length * 3);
    const bytes = writeText(value, this.#bytes, this.#size + 4);
    this.#bytes.writeInt32BE(bytes, this.#size);
    this.#size += 4 + bytes;
  }

  /** A text that writes itself as UTF-8; `write` answers its end. */
  written(text: { bytesMax(): number; write(to: Buffer, at: number): number }): void {
    this.#room(4 + text.bytesMax());
    const end = text.write(this.#bytes, this.#size + 4);
    this.#bytes.writeInt32BE(end - this.#size - 4, this.#size);
    this.#size = end;
  }

  /** A date `YYYY-MM-DD`, years 0001 to 9999. */
  date(value: string): void {
    this.integer(daysSince1970(value) - DAYS_BEFORE_2000);
  }

  /** A date as days since 1970-01-01. */
  day(days: number): void {
    this.integer(days - DAYS_BEFORE_2000);
  }

  /** A timestamptz as microseconds since 1970. */
  microseconds(value: number): void {
    this.bigint(value - MICROSECONDS_BEFORE_2000);
  }

  /** A time `YYYY-MM-DDThh:mm:ss.ffffffZ`, years 0001 to 9999, for timestamptz. */
  timestamp(value: string): void {
    // Batches often name one time throughout.
    if (value !== this.#time) {
      this.#timeBytes.writeBigInt64BE(microsecondsSince2000(value));
      this.#time = value;
    }
    this.#length(8);
    this.#size += this.#timeBytes.copy(this.#bytes, this.#size);
  }

  /** The length of a field, and room for a value of at most 16 bytes. */
  #length(bytes: number): void {
    this.#room(20);
    this.#size = this.#bytes.writeInt32BE(bytes, this.#size);
  }

  #room(bytes: number): void {
    if (this.#size + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#size + bytes));
    this.#bytes.copy(larger, 0, 0, this.#size);
    freeMemory(this.#bytes);
    this.#bytes = larger;
  }
}

/** OIDs of the types of elements, as every PostgreSQL has them (pg_type.dat). */
const TYPE_OIDS = {
  boolean: 16,
  bytea: 17,
  '"char"': 18,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  tid: 27,
  date: 1082,
  timestamptz: 1184,
  numeric: 1700,
  uuid: 2950,
} as const;

export type ElementType = keyof typeof TYPE_OIDS;

const BYTES_AN_ELEMENT = 24;

/**
 * An array of one dimension as a binary parameter of a statement: exactly so many elements as it is made for, written one
 * by one as fields of its type.
 */
export class ArrayParameter extends BinaryFields {
  constructor(type: ElementType, length: number) {
    super(Buffer.allocUnsafeSlow(64 + BYTES_AN_ELEMENT * length));
    const head = Buffer.alloc(length === 0 ? 12 : 20);
    head.writeInt32BE(length === 0 ? 0 : 1, 0);
    // There may be nulls; that there are is seen from the elements.
    head.writeInt32BE(1, 4);
    head.writeInt32BE(TYPE_OIDS[type], 8);
    if (length > 0) {
      head.writeInt32BE(length, 12);
      head.writeInt32BE(1, 16);
    }
    this.raw(head);
  }

  /** The parameter; nothing can be added then. */
  finish(): Buffer {
    return this.taken();
  }
}
