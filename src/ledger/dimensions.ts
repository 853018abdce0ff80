import { hash } from "node:crypto";
import type pg from "pg";
import { isDistributed, oneBucketOf } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import type { RecordKey } from "../state/record-state.ts";
import type { DimensionCodes } from "./night-run.ts";

const writeDimensions = readStatement(new URL("./sql/write-dimensions.sql", import.meta.url));
const writeDimensionsOfBucket = readStatement(
  new URL("./sql/write-dimensions-distributed.sql", import.meta.url),
);

/** Of some two hundred bytes each. A property has some thousands: past this many all are forgotten, and written again. */
const REMEMBERED_MAX = 50_000;

/** The number of a dimension: a bigint as the two halves of its bits. */
export interface Dimension {
  readonly high: number;
  readonly low: number;
}

interface NewDimension {
  readonly bucket: number;
  readonly property_id: number;
  readonly dimension: string;
  readonly [column: string]: string | number | null;
}

/** The eight codes in the order in which they make a number. */
function listOf(codes: DimensionCodes): readonly (string | null)[] {
  const { status, roomTypeCode, bookedRoomTypeCode, marketSegmentCode } = codes;
  const { groupBlockCode, rateCode, channel, currencyCode } = codes;
  return [
    ...[status, roomTypeCode, bookedRoomTypeCode, marketSegmentCode],
    ...[groupBlockCode, rateCode, channel, currencyCode],
  ];
}

/** One text for codes of a property: which of them are told, and NUL, which none of them contains, between them. */
function textOf(propertyId: number, codes: DimensionCodes): string {
  const { status, roomTypeCode, bookedRoomTypeCode, marketSegmentCode } = codes;
  const { groupBlockCode, rateCode, channel, currencyCode } = codes;
  const told =
    (status === null ? 0 : 1) |
    (roomTypeCode === null ? 0 : 2) |
    (bookedRoomTypeCode === null ? 0 : 4) |
    (marketSegmentCode === null ? 0 : 8) |
    (groupBlockCode === null ? 0 : 16) |
    (rateCode === null ? 0 : 32) |
    (channel === null ? 0 : 64) |
    (currencyCode === null ? 0 : 128);
  return `${propertyId} ${told} ${status}\0${roomTypeCode}\0${bookedRoomTypeCode}\0${marketSegmentCode}\0${groupBlockCode}\0${rateCode}\0${channel}\0${currencyCode}`;
}

/** The first eight bytes of the SHA-256 of the codes as a JSON array: the same after every replay, and on every worker. */
function numberOf(codes: DimensionCodes): Buffer {
  return hash("sha256", JSON.stringify(listOf(codes)), "buffer").subarray(0, 8);
}

/**
 * The dimensions of entries by their codes. A new one is written at the end of the transaction that needs it, and remembered;
 * `forget` after a transaction that failed, and when the tables may be others.
 */
export class Dimensions {
  readonly #known = new Map<string, Dimension>();
  #new: NewDimension[] = [];
  /** What was asked for last: the runs of a stay have one object of codes. */
  #lastCodes: DimensionCodes | undefined;
  #last: Dimension | undefined;

  of(of: RecordKey, codes: DimensionCodes): Dimension {
    if (codes !== this.#lastCodes || this.#last === undefined) {
      this.#last = this.#find(of, codes);
      this.#lastCodes = codes;
    }
    return this.#last;
  }

  #find({ bucket, propertyId }: RecordKey, codes: DimensionCodes): Dimension {
    const text = textOf(propertyId, codes);
    let dimension = this.#known.get(text);
    if (dimension === undefined) {
      const number = numberOf(codes);
      dimension = { high: number.readInt32BE(0), low: number.readInt32BE(4) };
      this.#new.push({
        bucket,
        property_id: propertyId,
        dimension: String(number.readBigInt64BE(0)),
        status: codes.status,
        room_type_code: codes.roomTypeCode,
        booked_room_type_code: codes.bookedRoomTypeCode,
        market_segment_code: codes.marketSegmentCode,
        group_block_code: codes.groupBlockCode,
        rate_code: codes.rateCode,
        channel: codes.channel,
        currency_code: codes.currencyCode,
      });
      if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
      this.#known.set(text, dimension);
    }
    return dimension;
  }

  /** Writes those that this transaction named first. */
  async write(client: pg.ClientBase): Promise<void> {
    if (this.#new.length === 0) return;
    const rows = this.#new;
    this.#new = [];
    if (await isDistributed(client))
      await client.query({ ...writeDimensionsOfBucket, values: [JSON.stringify(rows), oneBucketOf(rows)] });
    else await client.query({ ...writeDimensions, values: [JSON.stringify(rows)] });
  }

  forget(): void {
    this.#known.clear();
    this.#lastCodes = undefined;
    this.#new = [];
  }
}
