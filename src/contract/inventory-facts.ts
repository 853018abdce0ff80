import {
  arrayField,
  booleanElement,
  dateElement,
  field,
  integerElement,
  rowText,
  textElement,
} from "./facts-text.ts";
import type { Inventory } from "./schema/inventory.ts";

/** The text of a `bellhop.inventory_facts`: one array entry a room type, virtual room types last. */
export function inventoryFacts(record: Inventory): string {
  const virtual = record.virtualRoomTypeInventories ?? [];
  const rooms =
    virtual.length === 0 ? record.roomTypeInventories : [...record.roomTypeInventories, ...virtual];
  const firstVirtual = record.roomTypeInventories.length;
  return rowText([
    field(dateElement(record.occupancyDate)),
    arrayField(rooms, (room) => textElement(room.roomTypeCode)),
    arrayField(rooms, (_, at) => booleanElement(at >= firstVirtual)),
    arrayField(rooms, (room) => integerElement(room.roomTypeCapacity)),
    arrayField(rooms, (room) => integerElement(room.roomsNotAvailableMaintenance)),
    arrayField(rooms, (room) => integerElement(room.roomsNotAvailableOther)),
    arrayField(rooms, (room) => integerElement(room.roomsSold)),
    arrayField(rooms, (room) => integerElement(room.transientSold)),
    arrayField(rooms, (room) => integerElement(room.groupSold)),
  ]);
}
