import { code, count, date, identity, list, object, optional, timestamp } from "./field.ts";

const roomTypeInventory = object("Rooms of one room type on one date", {
  roomTypeCode: identity("Code identifying the room type", "DLX"),
  roomTypeCapacity: count("Accommodation capacity of the room type", 120),
  roomsNotAvailableMaintenance: optional(count("Rooms unavailable due to maintenance", 2)),
  roomsNotAvailableOther: optional(count("Rooms unavailable for other reasons", 0)),
  roomsSold: count("Rooms sold", 87),
  transientSold: optional(count("Transient rooms sold", 60)),
  groupSold: optional(count("Group rooms sold", 27)),
});

/** One per property and occupancy date (specification, section 2.1). */
export const inventorySchema = object("Room inventory of one property on one occupancy date", {
  clientCode: identity("Unique code identifying the client", "ACME"),
  createDateTime: timestamp("When the record was created: the newest wins", "2026-03-01T08:30:00Z"),
  propertyCode: identity("Unique code identifying the property", "PARIS01"),
  occupancyDate: date("Date to which the occupancy data applies", "2026-07-14"),
  correlationId: optional(code("Correlation ID for tracking", "c0ffee-1")),
  roomTypeInventories: list("Inventories of room types", roomTypeInventory),
  virtualRoomTypeInventories: optional(
    list(
      "Inventories of virtual room types; absent for hotels without virtual room types",
      roomTypeInventory,
    ),
  ),
});
