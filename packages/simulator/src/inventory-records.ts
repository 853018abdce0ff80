import type { RoomBooks } from "./front-desk.ts";
import type { HotelProfile } from "./hotel-profile.ts";
import { dateText, type SimulatedRecord, timeText } from "./simulated-record.ts";

/** As much as a hundred records: what one of them keeps alive is small, and each is soon sent. */
const CHUNK_BYTES = 262_144;
/** A text of so many characters has at most three times as many bytes. */
const BYTES_A_CHARACTER_MAX = 3;

/**
 * Turns texts into bytes, many in one block of memory. A text that was put together from a hundred pieces is a tree of them
 * until somebody reads it; bytes are what is sent in the end, and half the time of a simulation went into clearing such trees away.
 */
export class RecordBytes {
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;

  /** The bytes of a text. */
  of(text: string): Buffer {
    const chunk = this.#room(text.length * BYTES_A_CHARACTER_MAX);
    const start = this.#at;
    this.#at += chunk.write(text, start, "utf8");
    return chunk.subarray(start, this.#at);
  }

  /** An ASCII text, and bytes behind it. */
  joined(text: string, rest: Uint8Array): Buffer {
    const chunk = this.#room(text.length + rest.length);
    const start = this.#at;
    const middle = start + chunk.write(text, start, "latin1");
    chunk.set(rest, middle);
    this.#at = middle + rest.length;
    return chunk.subarray(start, this.#at);
  }

  #room(bytes: number): Buffer {
    if (this.#at + bytes > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
      this.#at = 0;
    }
    return this.#chunk;
  }
}

/** What a faulty hotel counts beside what it sold: rooms more on a night, as transient or told in the sum alone. */
export interface Miscounts {
  readonly transient: number;
  readonly sumOnly: number;
}

const NO_MISCOUNTS: Miscounts = { transient: 0, sumOnly: 0 };

/** A hotel's nightly push, one record a night. What has not changed is put together once. */
export class InventoryPush {
  readonly #profile: HotelProfile;
  readonly #books: RoomBooks;
  readonly #miscounts: ((type: number, day: number) => Miscounts | undefined) | undefined;
  readonly #head: string;
  /** By night, all behind the time of creation. */
  readonly #rests = new Map<number, Buffer>();
  readonly #bytes = new RecordBytes();

  constructor(
    profile: HotelProfile,
    books: RoomBooks,
    miscounts: ((type: number, day: number) => Miscounts | undefined) | undefined,
  ) {
    this.#profile = profile;
    this.#books = books;
    this.#miscounts = miscounts;
    this.#head = `{"clientCode":"${profile.clientCode}","propertyCode":"${profile.propertyCode}","createDateTime":"`;
  }

  /** Records of so many nights from one on, as of a moment. */
  records(from: number, nights: number, day: number, second: number): SimulatedRecord[] {
    const { clientCode, propertyCode } = this.#profile;
    const head = this.#head + timeText(day, second);
    this.#rests.delete(from - 1);
    return Array.from({ length: nights }, (_, at) => {
      const night = from + at;
      const json = this.#bytes.joined(head, this.#restOf(night));
      return { resource: "inventories", clientCode, propertyCode, key: dateText(night), day, second, json };
    });
  }

  #restOf(day: number): Buffer {
    const books = this.#books;
    let rest = this.#rests.get(day);
    if (rest === undefined || books.isTouched(day)) {
      rest = Buffer.from(
        `","occupancyDate":"${dateText(day)}","roomTypeInventories":[${this.#typesText(day)}]${this.#virtualText(day)}}`,
      );
      this.#rests.set(day, rest);
      books.told(day);
    }
    return rest;
  }

  #typesText(day: number): string {
    const books = this.#books;
    let text = "";
    for (let type = 0; type < books.types.length; type += 1) {
      const { code, rooms } = books.types[type] as (typeof books.types)[number];
      const wrong = this.#miscounts?.(type, day) ?? NO_MISCOUNTS;
      const transient = books.count("transient", type, day) + wrong.transient;
      const group = books.count("group", type, day);
      text += `${type === 0 ? "" : ","}{"roomTypeCode":"${code}","roomTypeCapacity":${rooms},"roomsNotAvailableMaintenance":${books.count("maintenance", type, day)},"roomsNotAvailableOther":${books.count("other", type, day)},"roomsSold":${transient + group + wrong.sumOnly},"transientSold":${transient},"groupSold":${group}}`;
    }
    return text;
  }

  /** The whole house as a room type that can be booked without choosing one; rooms of it count with their own types. */
  #virtualText(day: number): string {
    if (!this.#profile.hasRunOfHouse) return "";
    const books = this.#books;
    let sold = 0;
    for (let type = 0; type < books.types.length; type += 1)
      sold += books.count("transient", type, day) + books.count("group", type, day);
    return `,"virtualRoomTypeInventories":[{"roomTypeCode":"ROH","roomTypeCapacity":${this.#profile.rooms},"roomsSold":${sold}}]`;
  }
}
