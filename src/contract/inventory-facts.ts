import { type Facts, integerFact } from "./facts.ts";
import type { Inventory } from "./schema/inventory.ts";

/** The columns of `bellhop_state.inventory_version`: one array entry a room type, virtual room types last. */
export function inventoryFacts(record: Inventory): Facts {
  const virtual = record.virtualRoomTypeInventories ?? [];
  const rooms = [...record.roomTypeInventories, ...virtual];
  const firstVirtual = record.roomTypeInventories.length;
  return {
    occupancy_date: record.occupancyDate,
    room_type_code: rooms.map((room) => room.roomTypeCode),
    is_virtual: rooms.map((_, at) => at >= firstVirtual),
    room_type_capacity: rooms.map((room) => integerFact(room.roomTypeCapacity)),
    rooms_not_available_maintenance: rooms.map((room) => integerFact(room.roomsNotAvailableMaintenance)),
    rooms_not_available_other: rooms.map((room) => integerFact(room.roomsNotAvailableOther)),
    rooms_sold: rooms.map((room) => integerFact(room.roomsSold)),
    transient_sold: rooms.map((room) => integerFact(room.transientSold)),
    group_sold: rooms.map((room) => integerFact(room.groupSold)),
  };
}
