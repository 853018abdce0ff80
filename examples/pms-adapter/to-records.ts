import type { Booking, Hotel } from "./hotel-store.ts";

/**
 * The statuses of this system. Any other status is sent unchanged: Bellhop stores it with a warning and reports it separately until the
 * operator maps it, which is better than a guess.
 */
const LABELS: Readonly<Record<string, { readonly label: string; readonly holdsRooms: boolean }>> = {
  Confirmed: { label: "CONFIRMED", holdsRooms: true },
  "In house": { label: "IN_HOUSE", holdsRooms: true },
  Departed: { label: "CHECKED_OUT", holdsRooms: true },
  Cancelled: { label: "CANCELLED", holdsRooms: false },
  "No show": { label: "NO_SHOW", holdsRooms: false },
  "Day use": { label: "CONFIRMED", holdsRooms: true },
};

/** A booking as a complete reservation, with this system's time of its last change. */
export function reservationOf(hotel: Hotel, booking: Booking) {
  const { arrival, departure } = booking;
  return {
    clientCode: hotel.clientCode,
    propertyCode: hotel.propertyCode,
    reservationId: booking.id,
    lastModifiedDateTime: booking.modified,
    bookingDateTime: booking.booked,
    status: LABELS[booking.status]?.label ?? booking.status,
    cancellationDateTime: booking.cancelled === "" ? null : booking.cancelled,
    numberOfRooms: booking.rooms,
    roomStays: [
      {
        arrivalDate: arrival,
        departureDate: departure,
        roomTypeCode: booking.roomType,
        numberOfAdults: booking.adults,
        currencyCode: hotel.currency,
        rates: [{ startDate: arrival, endDate: departure, rateValue: booking.rate }],
      },
    ],
  };
}

/** The date `days` after another, without a time zone. */
export function daysAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** A night with the current sales of all room types. */
export function inventoryOf(hotel: Hotel, occupancyDate: string, createDateTime: string) {
  const sold = (roomType: string) =>
    hotel.bookings
      .filter(({ status }) => LABELS[status]?.holdsRooms === true)
      .filter((booking) => booking.roomType === roomType)
      .filter(({ arrival, departure }) => arrival <= occupancyDate && occupancyDate < departure)
      .reduce((rooms, booking) => rooms + booking.rooms, 0);
  return {
    clientCode: hotel.clientCode,
    propertyCode: hotel.propertyCode,
    createDateTime,
    occupancyDate,
    roomTypeInventories: hotel.roomTypes.map(({ code, rooms, outOfOrder }) => ({
      roomTypeCode: code,
      roomTypeCapacity: rooms,
      roomsNotAvailableMaintenance: outOfOrder,
      roomsSold: sold(code),
    })),
  };
}
