import type { Group, Inventory, Reservation } from "#client";
import { datesFrom, dayAfter } from "../fields.ts";

/** A hotel that is invented, and whose property it is sent as. */
export interface Hotel {
  readonly clientCode: string;
  readonly propertyCode: string;
}

const ROOM_TYPES = [
  { code: "STD", rooms: 40 },
  { code: "DLX", rooms: 12 },
] as const;
const NIGHTLY_RATE = "129.90";

/** Inventory of one date, made at this time. So many rooms of each type are sold. */
export function inventoryOf(hotel: Hotel, date: string, madeAt: string, sold: number): Inventory {
  return {
    ...hotel,
    createDateTime: madeAt,
    occupancyDate: date,
    roomTypeInventories: ROOM_TYPES.map(({ code, rooms }) => ({
      roomTypeCode: code,
      roomTypeCapacity: rooms,
      roomsNotAvailableMaintenance: 0,
      roomsNotAvailableOther: 0,
      roomsSold: sold,
      transientSold: sold,
      groupSold: 0,
    })),
  };
}

/** What a reservation of the hotel is told by; the rest of it is as every other's. */
export interface Booking {
  readonly id: string;
  /** When it was made or changed in the hotel's own system. */
  readonly modifiedAt: string;
  readonly arrival: string;
  readonly nights: number;
  readonly adults?: number;
  readonly block?: string;
  readonly share?: { readonly id: string; readonly roomNumber: string };
  readonly cancelledAt?: string;
}

/** A whole reservation: what it has not is null where null may stand, amounts are text, each night has its revenue. */
export function reservationOf(hotel: Hotel, booking: Booking): Reservation {
  const { id, modifiedAt, arrival, nights, adults = 2, block, share, cancelledAt } = booking;
  const departure = dayAfter(arrival, nights);
  // A day use has no night, and its revenue on its day.
  const revenueDates = nights === 0 ? [arrival] : datesFrom(arrival, nights);
  return {
    ...hotel,
    lastModifiedDateTime: modifiedAt,
    reservationId: id,
    confirmationNumber: id,
    status: cancelledAt === undefined ? "CONFIRMED" : "CANCELLED",
    bookingDateTime: "2026-01-15T09:30:00Z",
    numberOfRooms: 1,
    multiReservationId: null,
    ...(share === undefined ? {} : { shareId: share.id }),
    cancellationDateTime: cancelledAt ?? null,
    cancellationReason: cancelledAt === undefined ? null : "GUEST",
    channel: "WEB",
    nationality: "PT",
    roomStays: [
      {
        arrivalDate: arrival,
        departureDate: departure,
        roomTypeCode: "STD",
        bookedRoomTypeCode: "STD",
        marketSegmentCode: block === undefined ? "LEISURE" : "GROUP",
        ...(block === undefined ? {} : { groupBlockCode: block }),
        ...(share === undefined ? {} : { roomNumber: share.roomNumber }),
        sourceBookingCode: "WEB",
        numberOfAdults: adults,
        numberOfChildren: 0,
        currencyCode: "EUR",
        rateCode: "BAR",
        rates: [
          { startDate: arrival, endDate: departure, rateValue: NIGHTLY_RATE, grossRateValue: "142.89" },
        ],
      },
    ],
    stayRevenue: {
      daily: revenueDates.map((occupancyDate) => ({
        occupancyDate,
        netRoomRevenue: NIGHTLY_RATE,
        netFoodRevenue: "12.50",
        netTotalRevenue: "142.40",
      })),
    },
  };
}

/** A group of three nights with ten rooms a night, of which so many have been picked up. */
export function groupOf(
  hotel: Hotel,
  code: string,
  modifiedAt: string,
  start: string,
  pickup: number,
): Group {
  const nights = datesFrom(start, 3);
  return {
    ...hotel,
    lastModifiedDateTime: modifiedAt,
    groupCode: code,
    masterGroupCode: null,
    name: "Walking club",
    groupStatusCode: "DEFINITE",
    bookingDate: "2026-01-10",
    startDate: start,
    endDate: nights.at(-1) ?? start,
    cutoffDate: null,
    marketSegmentCode: "GROUP",
    rateCode: "GRP",
    groupBlocks: nights.map((occupancyDate) => ({
      occupancyDate,
      roomTypeCode: "STD",
      blocks: 10,
      pickup,
      originalBlocks: 10,
      singlePersonRate: "99.00",
      currencyCode: "EUR",
    })),
  };
}
