/** Cloudbeds: reservations of getReservation (docs/mappings/cloudbeds.md). */
import { amount, hotel, push, readPayload, utcOfLocal } from "./common.mjs";

/** One reservation for each room, because rooms of one booking may be of different types and dates. */
export function reservationsOf(from, { propertyCurrency }, { clientCode, propertyCode, timeZone }) {
  const rooms = [...(from.assigned ?? []), ...(from.unassigned ?? [])];
  return rooms.map((room) => ({
    clientCode,
    propertyCode,
    reservationId: room.subReservationID,
    multiReservationId: from.reservationID,
    confirmationNumber: from.thirdPartyIdentifier || undefined,
    lastModifiedDateTime: utcOfLocal(timeZone, from.dateModified),
    bookingDateTime: utcOfLocal(timeZone, from.dateCreated),
    status: from.status,
    channel: from.source,
    roomStays: [
      {
        arrivalDate: room.startDate,
        departureDate: room.endDate,
        roomTypeCode: room.roomTypeID,
        roomNumber: room.roomName,
        groupBlockCode: from.allotmentBlockCode || undefined,
        marketSegmentCode: room.marketCode || undefined,
        numberOfAdults: room.adults,
        numberOfChildren: room.children,
        currencyCode: propertyCurrency,
        rates: room.dailyRates.map(({ date, rate }) => ({
          startDate: date,
          endDate: date,
          rateValue: amount(rate),
        })),
      },
    ],
  }));
}

const { reservations, propertyCurrency } = await readPayload("cloudbeds.json");
await push(
  "reservations",
  reservations.flatMap(({ data }) => reservationsOf(data, { propertyCurrency }, hotel)),
);
