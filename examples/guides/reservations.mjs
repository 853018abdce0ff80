import { bellhop, now, PROPERTY } from "./bellhop.mjs";

/** The complete reservation as the hotel's system has it now, with the time of its last modification. */
function booking(departureDate) {
  return {
    clientCode: "DEMO",
    propertyCode: PROPERTY,
    reservationId: "R-1001",
    lastModifiedDateTime: now(),
    bookingDateTime: "2026-11-02T10:15:00Z",
    status: "CONFIRMED",
    numberOfRooms: 1,
    roomStays: [
      {
        arrivalDate: "2027-08-10",
        departureDate,
        roomTypeCode: "DLX",
        numberOfAdults: 2,
        marketSegmentCode: "LEISURE",
        rateCode: "BAR",
        currencyCode: "GBP",
        rates: [{ startDate: "2027-08-10", endDate: departureDate, rateValue: "180.00" }],
      },
    ],
  };
}

// Book it, then extend the stay by a night: send the whole reservation again, with the same id and a newer time.
for (const departure of ["2027-08-12", "2027-08-13"]) {
  const report = await bellhop.reservations.send([booking(departure)], { waitForOutcomes: true });
  console.log("applied:", report.outcomes?.applied);
}

// The history has every version.
const which = { clientCode: "DEMO", propertyCode: PROPERTY, reservationId: "R-1001" };
for await (const { outcome, record } of bellhop.reservations.history(which))
  console.log(outcome, record.roomStays[0]?.departureDate);
