import {
  arrayField,
  arrayFields,
  booleanElement,
  dateElement,
  field,
  integerElement,
  rowText,
  textElement,
} from "./facts-text.ts";
import type { Inventory, RoomTypeInventory } from "./schema/inventory.ts";

/** The columns of `bellhop.inventory_facts` with an entry a room type that tell of its rooms, in their order. */
const OF_ROOMS = [
  (room: RoomTypeInventory) => integerElement(room.roomTypeCapacity),
  (room: RoomTypeInventory) => integerElement(room.roomsNotAvailableMaintenance),
  (room: RoomTypeInventory) => integerElement(room.roomsNotAvailableOther),
  (room: RoomTypeInventory) => integerElement(room.roomsSold),
  (room: RoomTypeInventory) => integerElement(room.transientSold),
  (room: RoomTypeInventory) => integerElement(room.groupSold),
];

/** The text of a `bellhop.inventory_facts`: virtual room types last. */
export function inventoryFacts(record: Inventory): string {
  const virtual = record.virtualRoomTypeInventories ?? [];
  const rooms =
    virtual.length === 0 ? record.roomTypeInventories : [...record.roomTypeInventories, ...virtual];
  const firstVirtual = record.roomTypeInventories.length;
  return rowText([
    field(dateElement(record.occupancyDate)),
    arrayField(rooms, (room) => textElement(room.roomTypeCode)),
    arrayField(rooms, (_, at) => booleanElement(at >= firstVirtual)),
    ...arrayFields(rooms, OF_ROOMS),
  ]);
}
