import type { Booking } from "./bookings.ts";
import { dateOfDay, dayOf, instantOf, timestampOf } from "./calendar-day.ts";
import { inventName } from "./invented-people.ts";
import { type Message, type Moment, messagesOf } from "./message.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** A booking under the property and id that the workload gives it. */
export interface PlacedBooking {
  readonly booking: Booking;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly reservationId: string;
  readonly groupCode: string | null;
}

/** Portugal's rate on accommodation: 6 %. The data set's rate is net. */
const VAT_PERCENT = 6;
/** Net price of meals a person and day, in cents; the data set says only which board was booked. */
const BOARD_CENTS: Readonly<Record<string, number>> = { BB: 800, HB: 2400, FB: 3900 };
const CHANGES_MAX = 4;

function money(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, "0");
  return `${cents < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function grossOf(cents: number): number {
  return Math.round((cents * (100 + VAT_PERCENT)) / 100);
}

/** What of a reservation changes over its life. */
interface Stage {
  readonly status: string;
  readonly roomTypeCode: string;
  readonly roomNumber: string | null;
  readonly rateCents: number;
  readonly adults: number;
  readonly canceledAtMs: number | null;
}

function ratesOf(arrivalDay: number, nights: number, cents: number): object[] {
  const rate = (from: number, to: number, value: number) => ({
    startDate: dateOfDay(from),
    endDate: dateOfDay(to),
    rateValue: money(value),
    grossRateValue: money(grossOf(value)),
  });
  if (nights < 4) return [rate(arrivalDay, arrivalDay + Math.max(0, nights - 1), cents)];
  const middle = arrivalDay + Math.floor(nights / 2);
  return [rate(arrivalDay, middle - 1, cents), rate(middle, arrivalDay + nights - 1, cents)];
}

function revenueOf(placed: PlacedBooking, stage: Stage, arrivalDay: number): object {
  const { booking } = placed;
  const foodCents = (BOARD_CENTS[booking.meal] ?? 0) * (stage.adults + booking.children);
  const dayCents = stage.rateCents + foodCents;
  const daily = Array.from({ length: booking.nights }, (_, night) => ({
    occupancyDate: dateOfDay(arrivalDay + night),
    netRoomRevenue: money(stage.rateCents),
    netFoodRevenue: money(foodCents),
    netBeverageRevenue: "0.00",
    netOtherRevenue: "0.00",
    netTicketPrice: money(dayCents),
    ticketPrice: money(grossOf(dayCents)),
    netTotalRevenue: money(dayCents),
    grossTotalRevenue: money(grossOf(dayCents)),
  }));
  const summary = {
    netTotalTicketRevenue: money(dayCents * booking.nights),
    totalTicketRevenue: money(grossOf(dayCents) * booking.nights),
  };
  return { daily, summary };
}

function profilesOf({ booking, reservationId }: PlacedBooking, guest: string): object[] {
  const profiles: object[] = [{ id: `G-${reservationId}`, name: guest, profileType: "GUEST", context: null }];
  if (booking.agent !== "")
    profiles.push({
      id: `A-${Number(booking.agent)}`,
      name: `Agency ${Number(booking.agent)}`,
      profileType: "TRAVEL_AGENT",
      context: "BOOKER",
    });
  if (booking.company !== "")
    profiles.push({
      id: `C-${Number(booking.company)}`,
      name: `Company ${Number(booking.company)}`,
      profileType: "COMPANY",
      context: null,
    });
  return profiles;
}

function roomStayOf(placed: PlacedBooking, stage: Stage, arrivalDay: number): object {
  const { booking } = placed;
  const departureDate = dateOfDay(arrivalDay + booking.nights);
  const children = booking.children + booking.babies;
  const breakfast = {
    startDate: booking.arrivalDate,
    endDate: departureDate,
    serviceName: `Board ${booking.meal}`,
    serviceValue: (BOARD_CENTS[booking.meal] ?? 0) / 100,
    inclusive: true,
    reservationPackage: true,
    roomRevenuePackage: false,
  };
  return {
    arrivalDate: booking.arrivalDate,
    departureDate,
    roomTypeCode: stage.roomTypeCode,
    bookedRoomTypeCode: booking.reservedRoomType,
    marketSegmentCode: booking.marketSegment.toUpperCase(),
    ...(placed.groupCode === null ? {} : { groupBlockCode: placed.groupCode }),
    sourceBookingCode: booking.agent === "" ? "DIRECT" : `AGT${Number(booking.agent)}`,
    ...(stage.roomNumber === null ? {} : { roomNumber: stage.roomNumber }),
    // The specification has seen both spellings of a quantity; so does the workload.
    numberOfAdults: stage.adults % 2 === 0 ? stage.adults : String(stage.adults),
    numberOfChildren: children,
    currencyCode: "EUR",
    rateCode: `${booking.customerType.slice(0, 3).toUpperCase()}-${booking.meal}`,
    rates: ratesOf(arrivalDay, booking.nights, stage.rateCents),
    childAgeBuckets:
      children === 0 ? [] : [{ minimumAge: "0", maximumAge: "12", numberOfChildren: String(children) }],
    services: booking.meal === "SC" ? [] : [breakfast],
  };
}

/** The life of a booking: booked, changed as often as the row says, then cancelled, or checked in and out. */
function stagesOf({ booking }: PlacedBooking, random: SeededRandom): { atMs: number; stage: Stage }[] {
  const arrivalDay = dayOf(booking.arrivalDate);
  const bookedMs = instantOf(arrivalDay - booking.leadDays, random.between(0, 50_000));
  const arrivedMs = instantOf(arrivalDay, random.between(54_000, 82_800));
  let stage: Stage = {
    status: "CONFIRMED",
    roomTypeCode: booking.reservedRoomType,
    roomNumber: null,
    rateCents: booking.rateCents,
    adults: booking.adults,
    canceledAtMs: null,
  };
  const stages = [{ atMs: bookedMs, stage }];
  const between = (part: number, parts: number): number =>
    bookedMs + Math.floor(((arrivedMs - bookedMs) * part) / (parts * 1000)) * 1000;
  const changes = Math.min(CHANGES_MAX, booking.changes + (random.chance(0.25) ? 1 : 0));
  for (let change = 1; change <= changes; change += 1) {
    if (random.chance(0.5)) stage = { ...stage, rateCents: stage.rateCents + random.between(-1_500, 2_500) };
    else stage = { ...stage, adults: Math.max(1, stage.adults + (random.chance(0.5) ? 1 : -1)) };
    stages.push({ atMs: between(change, changes + 2), stage });
  }
  if (booking.canceled) {
    const canceledAtMs = between(changes + 1, changes + 2);
    stages.push({ atMs: canceledAtMs, stage: { ...stage, status: "CANCELLED", canceledAtMs } });
    return stages;
  }
  const room = { roomTypeCode: booking.assignedRoomType, roomNumber: String(random.between(101, 699)) };
  stages.push({ atMs: arrivedMs, stage: { ...stage, ...room, status: "CHECKED_IN" } });
  const departedMs = instantOf(arrivalDay + booking.nights, random.between(83_000, 86_000));
  stages.push({ atMs: departedMs, stage: { ...stage, ...room, status: "CHECKED_OUT" } });
  return stages;
}

/** Everything a property management system sends about one booking. */
export function reservationMessages(placed: PlacedBooking, random: SeededRandom): Message[] {
  const { booking, clientCode, propertyCode, reservationId } = placed;
  const arrivalDay = dayOf(booking.arrivalDate);
  const guest = inventName(random);
  const stages = stagesOf(placed, random);
  const bookedMs = stages[0]?.atMs ?? 0;
  const moments = stages.map(({ atMs, stage }): Moment => {
    const content = {
      reservationId,
      confirmationNumber: `CNF-${reservationId}`,
      status: stage.status,
      bookingDateTime: timestampOf(bookedMs),
      numberOfRooms: 1,
      multiReservationId: null,
      cancellationDateTime: stage.canceledAtMs === null ? null : timestampOf(stage.canceledAtMs),
      cancellationReason: stage.canceledAtMs === null ? null : "Plans changed",
      channel: booking.channel,
      nationality: booking.country === "" ? "PRT" : booking.country,
      roomStays: [roomStayOf(placed, stage, arrivalDay)],
      profiles: profilesOf(placed, guest),
      stayRevenue: revenueOf(placed, stage, arrivalDay),
    };
    return { atMs, content };
  });
  const subject = { clientCode, propertyCode, key: reservationId };
  return messagesOf(
    { ...subject, resource: "reservations", sourceTimeField: "lastModifiedDateTime" },
    moments,
    random,
  );
}
