import {
  code,
  count,
  date,
  decimal,
  flag,
  identity,
  integer,
  list,
  nullable,
  object,
  optional,
  period,
  text,
  timestamp,
  type ValueOf,
  word,
} from "./field.ts";

const groupBlock = object("Rooms blocked on one date in one room type", {
  occupancyDate: date("Occupancy date", "2026-09-10"),
  roomTypeCode: identity("Room type code", "DLX"),
  blocks: count("Number of blocks", 20),
  pickup: optional(count("Rooms picked up from the block", 8)),
  originalBlocks: optional(count("Original/initial rooms blocked", 25)),
  singlePersonRate: optional(decimal("Single person rate", 140)),
  twoPersonRate: optional(decimal("Two person rate", 160)),
  threePersonRate: optional(decimal("Three person rate", 180)),
  fourPersonRate: optional(decimal("Four person rate", 200)),
  singlePersonTotalRate: optional(decimal("Single person total rate", 154)),
  twoPersonTotalRate: optional(decimal("Two person total rate", 176)),
  threePersonTotalRate: optional(decimal("Three person total rate", 198)),
  fourPersonTotalRate: optional(decimal("Four person total rate", 220)),
  singlePersonOccupancy: optional(count("Single person occupancy", 4)),
  twoPersonOccupancy: optional(count("Two person occupancy", 4)),
  threePersonOccupancy: optional(count("Three person occupancy", 0)),
  fourPersonOccupancy: optional(count("Four person occupancy", 0)),
  extraAdultRate: optional(decimal("Extra adult rate", 40)),
  extraChildRate: optional(decimal("Extra child rate", 20)),
  currencyCode: optional(code("Currency code", "EUR")),
});

const service = period("A service attached to the group", ["startDate", "endDate"], {
  serviceName: optional(text("Name of the service", "Coffee break")),
  serviceValue: optional(decimal("Value of the service; may be negative", -5)),
  inclusive: optional(flag("Whether the rate includes the service", true)),
  startDate: optional(date("First date of the service", "2026-09-10")),
  endDate: optional(date("Last date of the service", "2026-09-12")),
});

/** Rooms held for a group, by date and room type (specification, section 2.3). */
export const groupSchema = period("A group block master", ["startDate", "endDate"], {
  clientCode: identity("Client code", "ACME"),
  propertyCode: identity("Property code", "PARIS01"),
  correlationId: optional(code("Correlation ID", "c0ffee-3")),
  lastModifiedDateTime: timestamp("Last modified date and time: the newest wins", "2026-03-01T08:30:00Z"),
  groupCode: identity("Group block code", "CONF26"),
  masterGroupCode: optional(nullable(code("Master group code", "CONF"))),
  name: optional(text("Name of the group block", "Autumn conference")),
  description: optional(text("Description", "Annual meeting, two floors")),
  action: optional(word("Action associated with the group block", ["COMMIT", "MODIFY", "CANCEL"])),
  bookingDate: optional(date("Booking date", "2026-02-01")),
  groupStatusCode: identity("Group status code: a label, see the default mapping", "DEFINITE"),
  startDate: date("Start date", "2026-09-10"),
  endDate: date("End date", "2026-09-12"),
  cutoffDays: optional(integer("Cutoff days", 30)),
  cutoffDate: optional(nullable(date("Cutoff date", "2026-08-11"))),
  cancelDate: optional(date("Cancel date", "2026-08-01")),
  groupTypeCode: optional(code("Group type code", "CORPORATE")),
  pickupTypeCode: optional(code("Pickup type code", "ROOMING_LIST")),
  marketSegmentCode: optional(code("Market segment code", "GROUP")),
  rateCode: optional(code("Rate code", "GRP")),
  salesPerson: optional(text("Sales person", "S. Example")),
  netRoomRevenue: optional(decimal("Net room revenue", "42000.00")),
  totalRoomRevenue: optional(decimal("Total room revenue", "46200.00")),
  groupBlocks: list("Per-date, per-room-type blocks", groupBlock),
  services: optional(list("Services attached", service)),
});

/** An accepted group block master. */
export type Group = ValueOf<typeof groupSchema>;
export type GroupBlock = ValueOf<typeof groupBlock>;
