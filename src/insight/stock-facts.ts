import { ROOM_TYPES_MAX } from "../contract/insight-bounds.ts";
import { elementsOf, fieldsOfRow } from "../ledger/read-facts.ts";
import { compareCodes } from "./books-position.ts";

/** What inventory tells of one night: of one room type, or of all together (`unit` is null). Numbers are of rooms. */
export interface Stock {
  readonly night: string;
  readonly unit: string | null;
  readonly capacity: number;
  /** Rooms that cannot be sold: maintenance and other reasons. */
  readonly off: number;
  readonly sold: number;
}

/** Where each column stands in a `bellhop.inventory_facts` (migration 0005). */
const COLUMN = { roomType: 1, isVirtual: 2, capacity: 3, maintenance: 4, other: 5, sold: 6 } as const;

/**
 * What the facts of a night's inventory record tell, in the order of room types, or of all together. Virtual room types are not rooms
 * of their own; a room type that is named twice has the sum. Nothing where there are more than insight counts.
 */
export function stockOfFacts(night: string, facts: string, isByRoomType: boolean): Stock[] {
  const fields = fieldsOfRow(facts);
  const column = (name: keyof typeof COLUMN) => elementsOf(fields[COLUMN[name]]);
  const roomTypes = column("roomType");
  if (roomTypes.length > ROOM_TYPES_MAX) return [];
  const [isVirtual, capacity, sold] = [column("isVirtual"), column("capacity"), column("sold")];
  const [maintenance, other] = [column("maintenance"), column("other")];
  const byUnit = new Map<string | null, Stock>();
  for (const [at, roomType] of roomTypes.entries()) {
    if (isVirtual[at] === "t") continue;
    const unit = isByRoomType ? roomType : null;
    const before = byUnit.get(unit);
    byUnit.set(unit, {
      ...{ night, unit },
      capacity: (before?.capacity ?? 0) + Number(capacity[at] ?? 0),
      off: (before?.off ?? 0) + Number(maintenance[at] ?? 0) + Number(other[at] ?? 0),
      sold: (before?.sold ?? 0) + Number(sold[at] ?? 0),
    });
  }
  return [...byUnit.values()].sort((left, right) => compareCodes(left.unit, right.unit));
}
