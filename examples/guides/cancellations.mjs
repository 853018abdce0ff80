import { bellhop, get, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

/** A complete reservation with its status; the cancellation time is null without a cancellation. */
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

// Two bookings, and one of day use, which departs on its arrival date and has no night.
const dayUse = stay("R-4003", "CONFIRMED", "2027-11-05");
await send(stay("R-4001", "CONFIRMED"), stay("R-4002", "CONFIRMED"), dayUse);

// Cancel one. There is no delete: send the whole reservation again with a cancelled status.
await send(stay("R-4001", "CANCELLED"));

// Reverse the cancellation: send the former content with a newer time.
await send(stay("R-4001", "CONFIRMED"));
