import { writeRandomId } from "./random-ids.ts";

/** How a field is written, as protobuf's encoding has it. */
const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

/** 2 to the 32nd. */
const WORD = 0x1_0000_0000;
const WORD_BYTES = 4;
const VARINT_BYTES_MAX = 10;
const UTF8_BYTES_MAX = 3;
/** What lengths take that are known only once what is so long was written: a varint may be longer than it has to be. */
const LENGTH_BYTES = 2;
export const LENGTH_MAX = 2 ** (7 * LENGTH_BYTES) - 1;
/** What is longer is cut: a name and its value fit into one length so, whatever their characters. */
const TEXT_CHARACTERS_MAX = 2_048;

/** A character below is a byte of its own in UTF-8. */
const ASCII_END = 0x80;
/** What is no longer is written by a loop of ours: calling Node's own costs more than so many characters. */
const SHORT_CHARACTERS_MAX = 64;

/** The value of a lower-case hexadecimal digit by its character: those of letters have bit 6, and begin at 1. */
function digitOf(character: number): number {
  return (character & 0x0f) + 9 * (character >>> 6);
}

/** Fields that are the same each time but for what ends them: as they were written, and where what they hold begins that reaches to that end. */
export interface Frame {
  readonly bytes: Buffer;
  readonly contentsAt: readonly number[];
}

/**
 * Writes protobuf into memory that is there already. What has no room is not written, and `hasRoom` says so from then on: the
 * caller goes back to where it began.
 */
export class ProtobufWriter {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** Where the next byte goes. */
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get hasRoom(): boolean {
    return this.at <= this.#bytes.length;
  }

  /** What was written. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.at);
  }

  /** Fields as they were written by another; answers where they begin. */
  fields(written: Buffer): number {
    const from = this.at;
    if (!this.#take(written.length)) return from;
    this.#bytes.set(written, from);
    this.at += written.length;
    return from;
  }

  /** A frame, ended by a text. */
  framedText(frame: Frame, text: string): void {
    const kept = text.slice(0, TEXT_CHARACTERS_MAX);
    if (!this.#take(frame.bytes.length + kept.length * UTF8_BYTES_MAX)) return;
    const frameAt = this.at;
    this.fields(frame.bytes);
    this.#characters(kept);
    this.#closeFrame(frameAt, frame);
  }

  /** A frame, ended by a whole number that is not negative. */
  framedVarint(frame: Frame, value: number): void {
    if (!this.#take(frame.bytes.length + VARINT_BYTES_MAX)) return;
    const frameAt = this.at;
    this.fields(frame.bytes);
    this.#varint(value);
    this.#closeFrame(frameAt, frame);
  }

  /** Begins a field of a varint, which is written next. */
  openVarint(field: number): void {
    if (this.#take(VARINT_BYTES_MAX)) this.#varint(field * 8 + VARINT);
  }

  /** A whole number that is not negative. */
  varint(field: number, value: number): void {
    if (!this.#take(2 * VARINT_BYTES_MAX)) return;
    this.#varint(field * 8 + VARINT);
    this.#varint(value);
  }

  text(field: number, text: string): void {
    const contentAt = this.open(field);
    const kept = text.slice(0, TEXT_CHARACTERS_MAX);
    if (!this.#take(kept.length * UTF8_BYTES_MAX)) return;
    this.#characters(kept);
    this.close(contentAt);
  }

  /** `digits`: hexadecimal ones, two a byte. */
  hexadecimal(field: number, digits: string): void {
    if (!this.#take(2 * VARINT_BYTES_MAX + digits.length)) return;
    this.#varint(field * 8 + DELIMITED);
    this.#varint(digits.length / 2);
    this.setHexadecimal(this.at, digits);
    this.at += digits.length / 2;
  }

  /** Bytes that are set later; answers where they begin. */
  zeros(field: number, bytes: number): number {
    const contentAt = this.open(field, 1);
    if (!this.#take(bytes)) return contentAt;
    this.#bytes.fill(0, contentAt, contentAt + bytes);
    this.at += bytes;
    this.close(contentAt, 1);
    return contentAt;
  }

  fixed32(field: number, value: number): void {
    if (!this.#take(VARINT_BYTES_MAX + WORD_BYTES)) return;
    this.#varint(field * 8 + FIXED32);
    this.#word(value);
  }

  /** A number of 64 bits that is set later; answers where it stands. */
  fixed64(field: number): number {
    if (!this.#take(VARINT_BYTES_MAX + 2 * WORD_BYTES)) return this.at;
    this.#varint(field * 8 + FIXED64);
    this.at += 2 * WORD_BYTES;
    return this.at - 2 * WORD_BYTES;
  }

  /** Sets what `fixed64` left: a product that may be beyond what a number holds exactly; its factors are not, and `times` is below 2 to the 21st. */
  setFixed64(at: number, value: number, times: number): void {
    const low = (value >>> 0) * times;
    this.#view.setUint32(at, low, true);
    this.#view.setUint32(at + WORD_BYTES, Math.floor(value / WORD) * times + Math.floor(low / WORD), true);
  }

  /** Sets bytes that were written: lower-case hexadecimal digits, two a byte. */
  setHexadecimal(at: number, digits: string): void {
    for (let digit = 0; digit < digits.length; digit += 2)
      this.#bytes[at + digit / 2] =
        (digitOf(digits.charCodeAt(digit)) << 4) | digitOf(digits.charCodeAt(digit + 1));
  }

  /** Sets bytes that were written to those of an id that nobody is told of. */
  setRandom(at: number, bytes: number): void {
    writeRandomId(this.#bytes, at, bytes);
  }

  double(field: number, value: number): void {
    if (!this.#take(VARINT_BYTES_MAX + 2 * WORD_BYTES)) return;
    this.#varint(field * 8 + FIXED64);
    this.#view.setFloat64(this.at, value, true);
    this.at += 2 * WORD_BYTES;
  }

  /** Begins a field whose length its caller does not know yet; answers where its content begins. */
  open(field: number, lengthBytes = LENGTH_BYTES): number {
    if (!this.#take(VARINT_BYTES_MAX + lengthBytes)) return this.at;
    this.#varint(field * 8 + DELIMITED);
    this.at += lengthBytes;
    return this.at;
  }

  /** Ends a field that `open` began. */
  close(contentAt: number, lengthBytes = LENGTH_BYTES): void {
    if (!this.hasRoom) return;
    let left = this.at - contentAt;
    for (let at = contentAt - lengthBytes; at < contentAt; at += 1) {
      this.#bytes[at] = (left & 0x7f) | (at === contentAt - 1 ? 0 : 0x80);
      left >>>= 7;
    }
  }

  /** Text for which there is room. */
  #characters(text: string): void {
    if (text.length <= SHORT_CHARACTERS_MAX && this.#ascii(text)) this.at += text.length;
    else this.at += this.#bytes.write(text, this.at);
  }

  /** Writes text up to a character that is none of ASCII, and answers whether there was none. */
  #ascii(text: string): boolean {
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charCodeAt(at);
      if (character >= ASCII_END) return false;
      this.#bytes[this.at + at] = character;
    }
    return true;
  }

  #closeFrame(frameAt: number, { contentsAt }: Frame): void {
    for (let at = 0; at < contentsAt.length; at += 1) this.close(frameAt + (contentsAt[at] as number));
  }

  /** Whether there is room for so many bytes more; there is for none from then on, if not. */
  #take(bytes: number): boolean {
    if (this.at + bytes <= this.#bytes.length) return true;
    this.at = this.#bytes.length + 1;
    return false;
  }

  #varint(value: number): void {
    let left = value;
    for (; left > 0x7f; left = Math.floor(left / 0x80)) {
      this.#bytes[this.at] = (left % 0x80) | 0x80;
      this.at += 1;
    }
    this.#bytes[this.at] = left;
    this.at += 1;
  }

  /** The lowest 32 bits, which is what is written of a number. */
  #word(value: number): void {
    this.#view.setUint32(this.at, value, true);
    this.at += WORD_BYTES;
  }
}
