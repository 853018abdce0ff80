import { integerValue } from "./decimal.ts";
import { ROOM_TYPES_MAX } from "./insight-bounds.ts";
import type { Inventory, RoomTypeInventory } from "./schema/inventory.ts";
import { warnOfNegative } from "./warn-of-negative.ts";
import type { WarningList } from "./warning.ts";

const COUNTS = [
  "roomTypeCapacity",
  "roomsNotAvailableMaintenance",
  "roomsNotAvailableOther",
  "roomsSold",
  "transientSold",
  "groupSold",
] as const;

/** Warns of what is doubtful in an inventory record: oversold, a split that does not add up, repeated room types. */
export function warnOfInventory(record: Inventory, warnings: WarningList): void {
  const count = record.roomTypeInventories.length + (record.virtualRoomTypeInventories?.length ?? 0);
  if (count > ROOM_TYPES_MAX) {
    const message = `the record has ${count} room types, and insight counts up to ${ROOM_TYPES_MAX}: it leaves the record out`;
    warnings.add("inventory.too-many-room-types", ["roomTypeInventories"], message);
  }
  const seen = new Set<string>();
  for (const field of ["roomTypeInventories", "virtualRoomTypeInventories"] as const) {
    const rooms = record[field] ?? [];
    for (let at = 0; at < rooms.length; at += 1) {
      const room = rooms[at] as RoomTypeInventory;
      const path = [field, at] as const;
      warnOfNegative(room, COUNTS, path, warnings);
      if (seen.has(room.roomTypeCode)) {
        warnings.add(
          "inventory.room-type-repeated",
          [...path, "roomTypeCode"],
          "this room type is named twice",
        );
      }
      seen.add(room.roomTypeCode);
      warnOfRooms(room, path, warnings);
    }
  }
}

function warnOfRooms(
  room: RoomTypeInventory,
  path: readonly (string | number)[],
  warnings: WarningList,
): void {
  const sold = integerValue(room.roomsSold) ?? 0;
  const available =
    (integerValue(room.roomTypeCapacity) ?? 0) -
    (integerValue(room.roomsNotAvailableMaintenance) ?? 0) -
    (integerValue(room.roomsNotAvailableOther) ?? 0);
  if (sold > available) {
    const message = `roomsSold is ${sold}, and ${available} rooms are available`;
    warnings.add("inventory.oversold", [...path, "roomsSold"], message);
  }
  const transient = integerValue(room.transientSold);
  const group = integerValue(room.groupSold);
  if (transient !== undefined && group !== undefined && transient + group !== sold) {
    const message = `transientSold ${transient} and groupSold ${group} are not roomsSold ${sold}`;
    warnings.add("inventory.sold-split", [...path, "roomsSold"], message);
  }
}
