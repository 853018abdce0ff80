import {
  code,
  codeOrObject,
  count,
  date,
  decimal,
  flag,
  flagOrCode,
  identity,
  list,
  nullable,
  object,
  optional,
  period,
  text,
  timestamp,
  type ValueOf,
} from "./field.ts";

const rate = period("The rate over a range of dates", ["startDate", "endDate"], {
  startDate: optional(date("First date of the rate", "2026-07-14")),
  endDate: optional(date("Last date of the rate", "2026-07-16")),
  rateValue: optional(decimal("Rate, sent as a text", "180.00")),
  grossRateValue: optional(decimal("Gross rate, sent as a text", "198.00")),
});

const childAgeBucket = object("Children of one age range", {
  minimumAge: optional(decimal("Youngest age of the range", "3")),
  maximumAge: optional(decimal("Oldest age of the range", "12")),
  numberOfChildren: optional(count("Children in the range", 1)),
});

const service = period("A service attached to the stay", ["startDate", "endDate"], {
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
  numberOfInfants: optional(count("Number of infants", 0)),
  currencyCode: optional(code("Currency code", "EUR")),
  rateCode: optional(code("Rate code", "BAR")),
  rates: optional(list("Rates over date ranges", rate)),
  childAgeBuckets: optional(list("Children grouped by age range", childAgeBucket)),
  services: optional(list("Services attached", service)),
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
export const reservationSchema = object("A reservation", {
  clientCode: identity("Client code associated with the reservation", "ACME"),
  propertyCode: identity("Property code associated with the reservation", "PARIS01"),
  correlationId: optional(code("Correlation ID", "c0ffee-2")),
  lastModifiedDateTime: timestamp(
    "Date and time of last modification: the newest wins",
    "2026-03-01T08:30:00Z",
  ),
  reservationId: identity("Id of the reservation", "R-48213"),
  confirmationNumber: optional(code("Confirmation number", "CNF-99231")),
  status: identity("Status of the reservation: a label, see the default mapping", "CONFIRMED"),
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
  lastBookedPropertyCode: optional(code("Property that was booked last", "PARIS02")),
  primarySharer: optional(flagOrCode("Whether this is the primary sharer, or the primary sharer's id", true)),
  sharers: optional(
    list("Sharers of the room", codeOrObject("Id of a sharer, or an object that describes one", "R-48214")),
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
