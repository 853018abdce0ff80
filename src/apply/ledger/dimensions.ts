import { hash } from "node:crypto";
import type pg from "pg";
import { insertRows } from "../../platform/db/write-rows.ts";
import type { RecordKey } from "../state/record-state.ts";
import type { DimensionCodes } from "./night-run.ts";

const INTO = {
  table: "night_dimension",
  columns: {
    bucket: "smallint",
    property_id: "integer",
    dimension: "bigint",
    status: "text",
    room_type_code: "text",
    booked_room_type_code: "text",
    market_segment_code: "text",
    group_block_code: "text",
    rate_code: "text",
    channel: "text",
    currency_code: "text",
  },
  skipsExisting: true,
} as const;

/**
 * Dimensions and maps that lead to them, of less than two hundred bytes each. A property has some thousands of dimensions: past this
 * many all are forgotten, and written again.
 */
const REMEMBERED_MAX = 75_000;

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
    status,
    roomTypeCode,
    bookedRoomTypeCode,
    marketSegmentCode,
    groupBlockCode,
    rateCode,
    channel,
    currencyCode,
  ];
}

/**
 * The property and then the codes, each in the map of those before it. The texts of codes are the same ones again and again
 * (TextMemory), so none is made and none is hashed anew to find a dimension.
 */
type Branch = Map<number | string | null, Branch | Dimension>;

/** The first eight bytes of the SHA-256 of the codes as a JSON array: the same after every replay, and on every worker. */
function numberOf(codes: DimensionCodes): Buffer {
  return hash("sha256", JSON.stringify(listOf(codes)), "buffer").subarray(0, 8);
}

/**
 * The dimensions of entries by their codes. A new one is written at the end of the transaction that needs it, and remembered;
 * `forget` after a transaction that failed, and when the tables may be others.
 */
export class Dimensions {
  readonly #known: Branch = new Map();
  /** Of the dimensions and maps. */
  #remembered = 0;
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
    const leaves = this.#leavesOf(propertyId, codes);
    let dimension = leaves.get(codes.groupBlockCode) as Dimension | undefined;
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
      leaves.set(codes.groupBlockCode, dimension);
      this.#remembered += 1;
      if (this.#remembered >= REMEMBERED_MAX) this.#forgetKnown();
    }
    return dimension;
  }

  /** Writes those that this transaction named first. */
  async write(client: pg.ClientBase): Promise<void> {
    const rows = this.#new;
    this.#new = [];
    await insertRows(client, INTO, rows);
  }

  forget(): void {
    this.#forgetKnown();
    this.#lastCodes = undefined;
    this.#new = [];
  }

  /** Where the dimension of codes stands, by its group. */
  #leavesOf(propertyId: number, codes: DimensionCodes): Branch {
    let branch = this.#next(this.#known, propertyId);
    branch = this.#next(branch, codes.currencyCode);
    branch = this.#next(branch, codes.status);
    branch = this.#next(branch, codes.marketSegmentCode);
    branch = this.#next(branch, codes.channel);
    branch = this.#next(branch, codes.roomTypeCode);
    branch = this.#next(branch, codes.bookedRoomTypeCode);
    return this.#next(branch, codes.rateCode);
  }

  #next(branch: Branch, code: number | string | null): Branch {
    const known = branch.get(code) as Branch | undefined;
    if (known !== undefined) return known;
    const next: Branch = new Map();
    branch.set(code, next);
    this.#remembered += 1;
    return next;
  }

  #forgetKnown(): void {
    this.#known.clear();
    this.#remembered = 0;
  }
}
