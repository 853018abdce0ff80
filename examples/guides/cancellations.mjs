import { bellhop, get, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

/** A reservation with its status, whole; without a cancellation its time is null. */
function stay(reservationId, status, departureDate = "2027-11-06") {
  return {
    ...hotel,
    reservationId,
    lastModifiedDateTime: now(),
    status,
    cancellationDateTime: status === "CANCELLED" ? now() : null,
    numberOfRooms: 1,
    roomStays: [{ arrivalDate: "2027-11-05", departureDate, roomTypeCode: "STD" }],
  };
}

async function send(...reservations) {
  const report = await bellhop.reservations.send(reservations, { waitForOutcomes: true });
  const night = { from: "2027-11-05", to: "2027-11-05" };
  const books = await get("/api/insight/v1/on-the-books", { ...hotel, ...night });
  console.log(`applied: ${report.outcomes?.applied}, on the books: ${books.items[0]?.rooms}`);
}

// Two bookings and one of day use, which leaves on the day it comes and so has no night.
const dayUse = stay("R-4003", "CONFIRMED", "2027-11-05");
await send(stay("R-4001", "CONFIRMED"), stay("R-4002", "CONFIRMED"), dayUse);

// One is cancelled. There is no delete: the whole reservation is sent again with a status that says so.
await send(stay("R-4001", "CANCELLED"));

// It is taken back: the former content, with a newer time.
await send(stay("R-4001", "CONFIRMED"));
