/** OPERA Cloud by OHIP: reservations of getReservation (docs/mappings/opera-cloud.md). */
import { amount, dayBefore, hotel, push, readPayload, utcOfLocal } from "./common.mjs";

const idOf = (list, type) => list?.find((one) => one.type === type)?.id;

export function reservationOf(from, { clientCode, propertyCode, timeZone }) {
  const { roomStay } = from;
  const id = idOf(from.reservationIdList, "Reservation");
  const sharers = (from.sharedGuests ?? []).map(({ reservationId }) => reservationId.id);
  const rooms = [...roomStay.roomRates].sort((one, other) => (one.start < other.start ? -1 : 1));
  return {
    clientCode,
    propertyCode,
    reservationId: id,
    confirmationNumber: idOf(from.reservationIdList, "Confirmation"),
    multiReservationId: from.linkedReservation?.id,
    lastModifiedDateTime: utcOfLocal(timeZone, from.lastModifyDateTime),
    bookingDateTime: utcOfLocal(timeZone, from.createDateTime),
    status: from.reservationStatus,
    channel: roomStay.bookingMedium,
    numberOfRooms: rooms[0]?.numberOfUnits,
    // The same id in each reservation of the share: the smallest of all.
    shareId: sharers.length === 0 ? undefined : [id, ...sharers].sort()[0],
    cancellationReason: from.reservationStatus === "Cancelled" ? from.cancellation?.description : undefined,
    roomStays: runsOf(rooms).map((run, at, runs) => stayOf(run, runs[at + 1], roomStay)),
  };
}

/** Runs of room rates of one room type: a guest who moves to another type has a stay in each. */
function runsOf(rooms) {
  const runs = [];
  for (const room of rooms) {
    if (runs.at(-1)?.[0].roomType === room.roomType) runs.at(-1).push(room);
    else runs.push([room]);
  }
  return runs;
}

function stayOf(run, next, { arrivalDate, departureDate, guestCounts, currentRoomInfo }) {
  const [first] = run;
  const until = next?.[0].start ?? departureDate;
  const rates = run.flatMap(({ rates: { rate } }) => rate);
  return {
    arrivalDate: first.start < arrivalDate ? arrivalDate : first.start,
    departureDate: until,
    roomTypeCode: first.roomType,
    bookedRoomTypeCode: first.roomTypeCharged,
    roomNumber: currentRoomInfo?.roomType === first.roomType ? currentRoomInfo.roomId : undefined,
    rateCode: first.ratePlanCode,
    marketSegmentCode: first.marketCode,
    sourceBookingCode: first.sourceCode,
    groupBlockCode: idOf(first.reservationBlock?.blockIdList, "BlockCode"),
    numberOfAdults: (first.guestCounts ?? guestCounts)?.adults,
    numberOfChildren: (first.guestCounts ?? guestCounts)?.children,
    currencyCode: rates[0]?.base.currencyCode,
    // A rate applies until the next one begins.
    rates: rates.map(({ start, base }, at) => ({
      startDate: start,
      endDate: dayBefore(rates[at + 1]?.start ?? until),
      rateValue: amount(base.amountBeforeTax),
      grossRateValue: amount(base.amountAfterTax),
    })),
  };
}

const payload = await readPayload("opera-cloud.json");
await push(
  "reservations",
  payload.reservations.reservation.map((one) => reservationOf(one, hotel)),
);
