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

/** Fields that are the same each time but for what ends them: as they were written, and where what they hold begins that reaches to that end. */
export interface Frame {
  readonly bytes: Buffer;
  readonly contentsAt: readonly number[];
}

/**
 * Writes protobuf into memory that is there already. Text and ids are copied by Node, which costs less than a loop of ours
 * as long as that loop has not run ten thousand times. What has no room is not written, and `hasRoom` says so from then on: the caller goes
 * back to where it began.
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

  /** Fields as they were written by another. */
  fields(written: Buffer): void {
    if (!this.#take(written.length)) return;
    this.#bytes.set(written, this.at);
    this.at += written.length;
  }

  /** A frame, ended by a text. */
  framedText(frame: Frame, text: string): void {
    const kept = text.slice(0, TEXT_CHARACTERS_MAX);
    if (!this.#take(frame.bytes.length + kept.length * UTF8_BYTES_MAX)) return;
    const frameAt = this.at;
    this.fields(frame.bytes);
    this.at += this.#bytes.write(kept, this.at);
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
    this.at += this.#bytes.write(kept, contentAt);
    this.close(contentAt);
  }

  /** `digits`: hexadecimal ones, two a byte. */
  hexadecimal(field: number, digits: string): void {
    if (!this.#take(2 * VARINT_BYTES_MAX + digits.length)) return;
    this.#varint(field * 8 + DELIMITED);
    this.#varint(digits.length / 2);
    this.at += this.#bytes.write(digits, this.at, "hex");
  }

  fixed32(field: number, value: number): void {
    if (!this.#take(VARINT_BYTES_MAX + WORD_BYTES)) return;
    this.#varint(field * 8 + FIXED32);
    this.#word(value);
  }

  /** A product that may be beyond what a number holds exactly; its factors are not, and `times` is below 2 to the 21st. */
  fixed64(field: number, value: number, times: number): void {
    if (!this.#take(VARINT_BYTES_MAX + 2 * WORD_BYTES)) return;
    this.#varint(field * 8 + FIXED64);
    const low = (value >>> 0) * times;
    this.#word(low);
    this.#word(Math.floor(value / WORD) * times + Math.floor(low / WORD));
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
