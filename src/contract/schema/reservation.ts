import { type Static, Type } from "typebox";
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
  period,
  text,
  timestamp,
} from "./field.ts";

const rate = period("The rate over a range of dates", ["startDate", "endDate"], {
  startDate: Type.Optional(date("First date of the rate", "2026-07-14")),
  endDate: Type.Optional(date("Last date of the rate", "2026-07-16")),
  rateValue: Type.Optional(decimal("Rate, sent as a text", "180.00")),
  grossRateValue: Type.Optional(decimal("Gross rate, sent as a text", "198.00")),
});

const childAgeBucket = object("Children of one age range", {
  minimumAge: Type.Optional(decimal("Youngest age of the range", "3")),
  maximumAge: Type.Optional(decimal("Oldest age of the range", "12")),
  numberOfChildren: Type.Optional(count("Children in the range", 1)),
});

const service = period("A service attached to the stay", ["startDate", "endDate"], {
  startDate: Type.Optional(date("First date of the service", "2026-07-14")),
  endDate: Type.Optional(date("Last date of the service", "2026-07-16")),
  serviceName: Type.Optional(text("Name of the service", "Breakfast")),
  serviceValue: Type.Optional(decimal("Value of the service", 24.5)),
  inclusive: Type.Optional(flag("Whether the rate includes the service", true)),
  reservationPackage: Type.Optional(flag("Whether the service is a package of the reservation", false)),
  roomRevenuePackage: Type.Optional(flag("Whether the service is a package of room revenue", false)),
});

const roomStay = period("One stay in one room type", ["arrivalDate", "departureDate"], {
  arrivalDate: date("Date of arrival", "2026-07-14"),
  departureDate: date("Date of departure; equal to the arrival for day use", "2026-07-17"),
  roomTypeCode: identity("Room type code", "DLX"),
  bookedRoomTypeCode: Type.Optional(code("Booked room type code", "STD")),
  marketSegmentCode: Type.Optional(code("Market segment code", "LEISURE")),
  groupBlockCode: Type.Optional(code("Group block code", "CONF26")),
  sourceBookingCode: Type.Optional(code("Source booking code", "WEB")),
  roomNumber: Type.Optional(code("Room number", "1204")),
  numberOfAdults: Type.Optional(count("Number of adults", 2)),
  numberOfChildren: Type.Optional(count("Number of children", 1)),
  numberOfInfants: Type.Optional(count("Number of infants", 0)),
  currencyCode: Type.Optional(code("Currency code", "EUR")),
  rateCode: Type.Optional(code("Rate code", "BAR")),
  rates: Type.Optional(list("Rates over date ranges", rate)),
  childAgeBuckets: Type.Optional(list("Children grouped by age range", childAgeBucket)),
  services: Type.Optional(list("Services attached", service)),
});

const profile = object("A profile attached to the reservation", {
  id: Type.Optional(code("Id of the profile", "P-1001")),
  name: Type.Optional(text("Name of the profile", "Example Travel")),
  profileType: Type.Optional(code("Type of the profile", "COMPANY")),
  context: Type.Optional(nullable(text("Context of the profile", "BOOKER"))),
});

const dailyRevenue = object("Revenue of one occupancy date", {
  occupancyDate: date("Date of the revenue", "2026-07-14"),
  netRoomRevenue: Type.Optional(decimal("Net room revenue", "180.00")),
  netFoodRevenue: Type.Optional(decimal("Net food revenue", "24.50")),
  netBeverageRevenue: Type.Optional(decimal("Net beverage revenue", "0")),
  netOtherRevenue: Type.Optional(decimal("Net other revenue", "0")),
  netTicketPrice: Type.Optional(decimal("Net ticket price", "0")),
  ticketPrice: Type.Optional(decimal("Ticket price", "0")),
  netTotalRevenue: Type.Optional(decimal("Net total revenue", "204.50")),
  grossTotalRevenue: Type.Optional(decimal("Gross total revenue", "224.95")),
});

const summaryRevenue = object("Revenue of the whole reservation", {
  netTotalTicketRevenue: Type.Optional(decimal("Net total ticket revenue", "0")),
  totalTicketRevenue: Type.Optional(decimal("Total ticket revenue", "0")),
});

/** One booking with its stays (specification, section 2.2). */
export const reservationSchema = object("A reservation", {
  clientCode: identity("Client code associated with the reservation", "ACME"),
  propertyCode: identity("Property code associated with the reservation", "PARIS01"),
  correlationId: Type.Optional(code("Correlation ID", "c0ffee-2")),
  lastModifiedDateTime: timestamp(
    "Date and time of last modification: the newest wins",
    "2026-03-01T08:30:00Z",
  ),
  reservationId: identity("Id of the reservation", "R-48213"),
  confirmationNumber: Type.Optional(code("Confirmation number", "CNF-99231")),
  status: identity("Status of the reservation: a label, see the default mapping", "CONFIRMED"),
  bookingDateTime: Type.Optional(timestamp("Date of the booking", "2026-02-20T10:15:00Z")),
  numberOfRooms: Type.Optional(count("Number of rooms in the reservation", 1)),
  multiReservationId: Type.Optional(nullable(code("Multi reservation id", "M-77"))),
  shareId: Type.Optional(code("Share id", "S-12")),
  cancellationDateTime: Type.Optional(
    nullable(timestamp("When the reservation was cancelled", "2026-03-01T08:29:00Z")),
  ),
  cancellationReason: Type.Optional(nullable(text("Reason for cancellation", "Plans changed"))),
  channel: Type.Optional(code("Booking channel used", "DIRECT")),
  nationality: Type.Optional(code("Origin country of the guest", "FR")),
  lastBookedPropertyCode: Type.Optional(code("Property that was booked last", "PARIS02")),
  primarySharer: Type.Optional(
    flagOrCode("Whether this is the primary sharer, or the primary sharer's id", true),
  ),
  sharers: Type.Optional(
    list("Sharers of the room", codeOrObject("Id of a sharer, or an object that describes one", "R-48214")),
  ),
  roomStays: list("Stays within the reservation", roomStay, 1),
  profiles: Type.Optional(list("Profiles attached", profile)),
  stayRevenue: Type.Optional(
    object("Revenue of the stays", {
      daily: Type.Optional(list("Revenue by occupancy date", dailyRevenue)),
      summary: Type.Optional(summaryRevenue),
    }),
  ),
});

/** An accepted reservation. */
export type Reservation = Static<typeof reservationSchema>;
export type RoomStay = Static<typeof roomStay>;
export type DailyRevenue = Static<typeof dailyRevenue>;
