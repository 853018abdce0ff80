import { byResource, type Resource } from "../resource.ts";
import {
  code,
  codeOrObject,
  count,
  currency,
  date,
  decimal,
  type FieldSchema,
  flag,
  flagOrCode,
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
} from "./field.ts";

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
const inventorySchema = object("Room inventory of one property on one occupancy date", {
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

const rate = period("The rate over a range of dates", ["startDate", "endDate"], {
  startDate: optional(date("First date of the rate", "2026-07-14")),
  endDate: optional(date("Last date of the rate", "2026-07-16")),
  rateValue: optional(decimal("Rate, sent as a string", "180.00")),
  grossRateValue: optional(decimal("Gross rate, sent as a string", "198.00")),
});

const childAgeBucket = object("Children of one age range", {
  minimumAge: optional(decimal("Youngest age of the range", "3")),
  maximumAge: optional(decimal("Oldest age of the range", "12")),
  numberOfChildren: optional(count("Children in the range", 1)),
});

const stayService = period("A service attached to the stay", ["startDate", "endDate"], {
  startDate: optional(date("First date of the service", "2026-07-14")),
  endDate: optional(date("Last date of the service", "2026-07-16")),
  serviceName: optional(text("Name of the service", "Breakfast")),
  serviceValue: optional(decimal("Value of the service", 24.5)),
  inclusive: optional(flag("Whether the rate includes the service", true)),
  reservationPackage: optional(flag("Whether the service is a package of the reservation", false)),
  roomRevenuePackage: optional(flag("Whether the service is a package of room revenue", false)),
});

const roomStay = period("One stay in one room type", ["arrivalDate", "departureDate"], {
  arrivalDate: date("Date of arrival", "2026-07-14"),
  departureDate: date("Date of departure; equal to the arrival for day use", "2026-07-17"),
  roomTypeCode: identity("Room type code", "DLX"),
  bookedRoomTypeCode: optional(code("Booked room type code", "STD")),
  marketSegmentCode: optional(code("Market segment code", "LEISURE")),
  groupBlockCode: optional(code("Group block code", "CONF26")),
  sourceBookingCode: optional(code("Source booking code", "WEB")),
  roomNumber: optional(code("Room number", "1204")),
  numberOfAdults: optional(count("Number of adults", 2)),
  numberOfChildren: optional(count("Number of children", 1)),
  numberOfInfants: optional(nullable(count("Number of infants", 0))),
  currencyCode: optional(currency("Currency code, ISO 4217", "EUR")),
  rateCode: optional(code("Rate code", "BAR")),
  rates: optional(list("Rates over date ranges", rate)),
  childAgeBuckets: optional(list("Children grouped by age range", childAgeBucket)),
  services: optional(list("Services attached", stayService)),
});

const profile = object("A profile attached to the reservation", {
  id: optional(code("Id of the profile", "P-1001")),
  name: optional(text("Name of the profile", "Example Travel")),
  profileType: optional(code("Type of the profile", "COMPANY")),
  context: optional(nullable(text("Context of the profile", "BOOKER"))),
});

const dailyRevenue = object("Revenue of one occupancy date", {
  occupancyDate: date("Date of the revenue", "2026-07-14"),
  netRoomRevenue: optional(decimal("Net room revenue", "180.00")),
  netFoodRevenue: optional(decimal("Net food revenue", "24.50")),
  netBeverageRevenue: optional(decimal("Net beverage revenue", "0")),
  netOtherRevenue: optional(decimal("Net other revenue", "0")),
  netTicketPrice: optional(decimal("Net ticket price", "0")),
  ticketPrice: optional(decimal("Ticket price", "0")),
  netTotalRevenue: optional(decimal("Net total revenue", "204.50")),
  grossTotalRevenue: optional(decimal("Gross total revenue", "224.95")),
});

const summaryRevenue = object("Revenue of the whole reservation", {
  netTotalTicketRevenue: optional(decimal("Net total ticket revenue", "0")),
  totalTicketRevenue: optional(decimal("Total ticket revenue", "0")),
});

/** One booking with its stays (specification, section 2.2). */
const reservationSchema = object("A reservation", {
  clientCode: identity("Client code associated with the reservation", "ACME"),
  propertyCode: identity("Property code associated with the reservation", "PARIS01"),
  correlationId: optional(code("Correlation ID", "c0ffee-2")),
  lastModifiedDateTime: timestamp(
    "Date and time of last modification: the newest wins",
    "2026-03-01T08:30:00Z",
  ),
  reservationId: identity("Id of the reservation", "R-48213"),
  confirmationNumber: optional(code("Confirmation number", "CNF-99231")),
  status: identity("Status of the reservation; see the default mapping", "CONFIRMED"),
  bookingDateTime: optional(timestamp("Date of the booking", "2026-02-20T10:15:00Z")),
  numberOfRooms: optional(count("Number of rooms in the reservation", 1)),
  multiReservationId: optional(nullable(code("Multi reservation id", "M-77"))),
  shareId: optional(code("Share id", "S-12")),
  cancellationDateTime: optional(
    nullable(timestamp("When the reservation was cancelled", "2026-03-01T08:29:00Z")),
  ),
  cancellationReason: optional(nullable(text("Reason for cancellation", "Plans changed"))),
  channel: optional(code("Booking channel used", "DIRECT")),
  nationality: optional(code("Origin country of the guest", "FR")),
  lastBookedPropertyCode: optional(nullable(code("Property that was booked last", "PARIS02"))),
  primarySharer: optional(
    nullable(flagOrCode("Whether this is the primary sharer, or the primary sharer's id", true)),
  ),
  sharers: optional(
    nullable(
      list("Sharers of the room", codeOrObject("Id of a sharer, or an object that describes one", "R-48214")),
    ),
  ),
  roomStays: list("Stays within the reservation", roomStay, 1),
  profiles: optional(list("Profiles attached", profile)),
  stayRevenue: optional(
    object("Revenue of the stays", {
      daily: optional(list("Revenue by occupancy date", dailyRevenue)),
      summary: optional(summaryRevenue),
    }),
  ),
});

/** An accepted reservation. */
export type Reservation = ValueOf<typeof reservationSchema>;

const groupBlock = object("Rooms blocked on one date in one room type", {
  occupancyDate: date("Occupancy date", "2026-09-10"),
  roomTypeCode: identity("Room type code", "DLX"),
  blocks: count("Number of blocks", 20),
  pickup: optional(count("Rooms picked up from the block", 8)),
  originalBlocks: optional(count("Original/initial rooms blocked", 25)),
  singlePersonRate: optional(decimal("Single person rate", 140)),
  twoPersonRate: optional(decimal("Two person rate", 160)),
  threePersonRate: optional(nullable(decimal("Three person rate", 180))),
  fourPersonRate: optional(nullable(decimal("Four person rate", 200))),
  singlePersonTotalRate: optional(decimal("Single person total rate", 154)),
  twoPersonTotalRate: optional(decimal("Two person total rate", 176)),
  threePersonTotalRate: optional(nullable(decimal("Three person total rate", 198))),
  fourPersonTotalRate: optional(nullable(decimal("Four person total rate", 220))),
  singlePersonOccupancy: optional(count("Single person occupancy", 4)),
  twoPersonOccupancy: optional(count("Two person occupancy", 4)),
  threePersonOccupancy: optional(nullable(count("Three person occupancy", 0))),
  fourPersonOccupancy: optional(nullable(count("Four person occupancy", 0))),
  extraAdultRate: optional(nullable(decimal("Extra adult rate", 40))),
  extraChildRate: optional(nullable(decimal("Extra child rate", 20))),
  currencyCode: optional(currency("Currency code, ISO 4217", "EUR")),
});

const groupService = period("A service attached to the group", ["startDate", "endDate"], {
  serviceName: optional(text("Name of the service", "Coffee break")),
  serviceValue: optional(decimal("Value of the service; may be negative", -5)),
  inclusive: optional(flag("Whether the rate includes the service", true)),
  startDate: optional(date("First date of the service", "2026-09-10")),
  endDate: optional(date("Last date of the service", "2026-09-12")),
});

/** Rooms held for a group, by date and room type (specification, section 2.3). */
const groupSchema = period("A group block master", ["startDate", "endDate"], {
  clientCode: identity("Client code", "ACME"),
  propertyCode: identity("Property code", "PARIS01"),
  correlationId: optional(code("Correlation ID", "c0ffee-3")),
  lastModifiedDateTime: timestamp("Last modified date and time: the newest wins", "2026-03-01T08:30:00Z"),
  groupCode: identity("Group block code", "CONF26"),
  masterGroupCode: optional(nullable(code("Master group code", "CONF"))),
  name: optional(text("Name of the group block", "Autumn conference")),
  description: optional(text("Description", "Annual meeting, two floors")),
  action: optional(nullable(code("Action associated with the group block", "COMMIT"))),
  bookingDate: optional(date("Booking date", "2026-02-01")),
  groupStatusCode: identity("Group status code; see the default mapping", "DEFINITE"),
  startDate: date("Start date", "2026-09-10"),
  endDate: date("End date", "2026-09-12"),
  cutoffDays: optional(integer("Cutoff days", 30)),
  cutoffDate: optional(nullable(date("Cutoff date", "2026-08-11"))),
  cancelDate: optional(nullable(date("Cancel date", "2026-08-01"))),
  groupTypeCode: optional(code("Group type code", "CORPORATE")),
  pickupTypeCode: optional(code("Pickup type code", "ROOMING_LIST")),
  marketSegmentCode: optional(code("Market segment code", "GROUP")),
  rateCode: optional(code("Rate code", "GRP")),
  salesPerson: optional(text("Sales person", "S. Example")),
  netRoomRevenue: optional(nullable(decimal("Net room revenue", "42000.00"))),
  totalRoomRevenue: optional(nullable(decimal("Total room revenue", "46200.00"))),
  groupBlocks: list("Per-date, per-room-type blocks", groupBlock),
  services: optional(list("Services attached", groupService)),
});

/** The record schema of each resource, for validation and the OpenAPI document. */
export const RECORD_SCHEMAS: Readonly<Record<Resource, FieldSchema>> = {
  inventories: inventorySchema,
  reservations: reservationSchema,
  groups: groupSchema,
};

/** The names of all fields of each resource's records, at any depth. */
export const FIELD_NAMES = byResource(
  (resource): ReadonlySet<string> => new Set(namesIn(RECORD_SCHEMAS[resource])),
);

function namesIn({ properties = {}, items }: FieldSchema): readonly string[] {
  const within = Object.values(properties).flatMap(namesIn);
  return [...Object.keys(properties), ...within, ...(items === undefined ? [] : namesIn(items))];
}
