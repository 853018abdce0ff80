import { bellhop, get, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

/** A guest's reservation of a shared room: both guests' reservations have the same shareId. */
function sharer(reservationId, other, departureDate) {
  return {
    ...hotel,
    reservationId,
    lastModifiedDateTime: now(),
    status: "CONFIRMED",
    numberOfRooms: 1,
    shareId: "S-12",
    primarySharer: reservationId < other,
    sharers: [other],
    roomStays: [
      {
        arrivalDate: "2027-10-01",
        departureDate,
        roomTypeCode: "DLX",
        numberOfAdults: 1,
        currencyCode: "GBP",
        rates: [{ startDate: "2027-10-01", endDate: departureDate, rateValue: "90.00" }],
      },
    ],
  };
}

const batch = [sharer("R-3001", "R-3002", "2027-10-03"), sharer("R-3002", "R-3001", "2027-10-02")];
const report = await bellhop.reservations.send(batch, { waitForOutcomes: true });
console.log("applied:", report.outcomes?.applied);

// One room on both nights: two guests and both rates on the first, one guest on the second.
const nights = { from: "2027-10-01", to: "2027-10-02" };
for (const night of (await get("/api/insight/v1/on-the-books", { ...hotel, ...nights })).items)
  console.log(`${night.stayDate}: ${night.rooms} room, ${night.adults} adults, ${night.roomRevenue}`);
