import { type Static, Type } from "typebox";
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
  period,
  text,
  timestamp,
  word,
} from "./field.ts";

const groupBlock = object("Rooms blocked on one date in one room type", {
  occupancyDate: date("Occupancy date", "2026-09-10"),
  roomTypeCode: identity("Room type code", "DLX"),
  blocks: count("Number of blocks", 20),
  pickup: Type.Optional(count("Rooms picked up from the block", 8)),
  originalBlocks: Type.Optional(count("Original/initial rooms blocked", 25)),
  singlePersonRate: Type.Optional(decimal("Single person rate", 140)),
  twoPersonRate: Type.Optional(decimal("Two person rate", 160)),
  threePersonRate: Type.Optional(decimal("Three person rate", 180)),
  fourPersonRate: Type.Optional(decimal("Four person rate", 200)),
  singlePersonTotalRate: Type.Optional(decimal("Single person total rate", 154)),
  twoPersonTotalRate: Type.Optional(decimal("Two person total rate", 176)),
  threePersonTotalRate: Type.Optional(decimal("Three person total rate", 198)),
  fourPersonTotalRate: Type.Optional(decimal("Four person total rate", 220)),
  singlePersonOccupancy: Type.Optional(count("Single person occupancy", 4)),
  twoPersonOccupancy: Type.Optional(count("Two person occupancy", 4)),
  threePersonOccupancy: Type.Optional(count("Three person occupancy", 0)),
  fourPersonOccupancy: Type.Optional(count("Four person occupancy", 0)),
  extraAdultRate: Type.Optional(decimal("Extra adult rate", 40)),
  extraChildRate: Type.Optional(decimal("Extra child rate", 20)),
  currencyCode: Type.Optional(code("Currency code", "EUR")),
});

const service = period("A service attached to the group", ["startDate", "endDate"], {
  serviceName: Type.Optional(text("Name of the service", "Coffee break")),
  serviceValue: Type.Optional(decimal("Value of the service; may be negative", -5)),
  inclusive: Type.Optional(flag("Whether the rate includes the service", true)),
  startDate: Type.Optional(date("First date of the service", "2026-09-10")),
  endDate: Type.Optional(date("Last date of the service", "2026-09-12")),
});

/** Rooms held for a group, by date and room type (specification, section 2.3). */
export const groupSchema = period("A group block master", ["startDate", "endDate"], {
  clientCode: identity("Client code", "ACME"),
  propertyCode: identity("Property code", "PARIS01"),
  correlationId: Type.Optional(code("Correlation ID", "c0ffee-3")),
  lastModifiedDateTime: timestamp("Last modified date and time: the newest wins", "2026-03-01T08:30:00Z"),
  groupCode: identity("Group block code", "CONF26"),
  masterGroupCode: Type.Optional(nullable(code("Master group code", "CONF"))),
  name: Type.Optional(text("Name of the group block", "Autumn conference")),
  description: Type.Optional(text("Description", "Annual meeting, two floors")),
  action: Type.Optional(word("Action associated with the group block", ["COMMIT", "MODIFY", "CANCEL"])),
  bookingDate: Type.Optional(date("Booking date", "2026-02-01")),
  groupStatusCode: identity("Group status code: a label, see the default mapping", "DEFINITE"),
  startDate: date("Start date", "2026-09-10"),
  endDate: date("End date", "2026-09-12"),
  cutoffDays: Type.Optional(integer("Cutoff days", 30)),
  cutoffDate: Type.Optional(nullable(date("Cutoff date", "2026-08-11"))),
  cancelDate: Type.Optional(date("Cancel date", "2026-08-01")),
  groupTypeCode: Type.Optional(code("Group type code", "CORPORATE")),
  pickupTypeCode: Type.Optional(code("Pickup type code", "ROOMING_LIST")),
  marketSegmentCode: Type.Optional(code("Market segment code", "GROUP")),
  rateCode: Type.Optional(code("Rate code", "GRP")),
  salesPerson: Type.Optional(text("Sales person", "S. Example")),
  netRoomRevenue: Type.Optional(decimal("Net room revenue", "42000.00")),
  totalRoomRevenue: Type.Optional(decimal("Total room revenue", "46200.00")),
  groupBlocks: list("Per-date, per-room-type blocks", groupBlock),
  services: Type.Optional(list("Services attached", service)),
});

/** An accepted group block master. */
export type Group = Static<typeof groupSchema>;
export type GroupBlock = Static<typeof groupBlock>;
