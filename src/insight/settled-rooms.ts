import type { Queryable } from "../platform/db/transaction.ts";
import type { InsightProperty, PointInTime } from "./point-in-time.ts";
import { ROWS_MAX, requireFewRows } from "./question.ts";
import { readWithParts } from "./statement-parts.ts";
import { sumEntries } from "./sum-entries.ts";

const readSettled = readWithParts(new URL("./sql/read-settled-rooms.sql", import.meta.url));

/** Rooms of reservations on the books of a night, shares settled. */
export interface SettledRooms {
  readonly night: string;
  readonly room_type: string | null;
  /** The group block that they are of; null: of none. */
  readonly block_group: string | null;
  readonly rooms: number;
}

/** Rooms on the books by night, room type and group, under the labels that deduct; `to` included. In the order of nights. */
export async function readSettledRooms(
  on: Queryable,
  property: InsightProperty,
  range: { readonly from: string; readonly to: string },
  at: PointInTime,
  deducting: readonly string[],
): Promise<SettledRooms[]> {
  const rows = await sumEntries<SettledRooms>(on, readSettled, [
    property.bucket,
    property.propertyId,
    range.from,
    range.to,
    at.sourceUpTo,
    at.receivedUpTo,
    deducting,
    ROWS_MAX + 1,
  ]);
  return requireFewRows(rows, range);
}
