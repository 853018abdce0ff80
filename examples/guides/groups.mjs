import { bellhop, get, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

/** The complete current group block master. */
function block(blocks, pickup) {
  return {
    ...hotel,
    groupCode: "CONF27",
    name: "Autumn conference",
    lastModifiedDateTime: now(),
    groupStatusCode: "DEFINITE",
    startDate: "2027-09-10",
    endDate: "2027-09-11",
    cutoffDate: "2027-08-11",
    groupBlocks: [
      {
        occupancyDate: "2027-09-10",
        roomTypeCode: "DLX",
        originalBlocks: 25,
        blocks,
        pickup,
        singlePersonRate: "140.00",
        currencyCode: "GBP",
      },
    ],
  };
}

// A guest of the conference books: a reservation whose room stay names the block.
const stay = { arrivalDate: "2027-09-10", departureDate: "2027-09-11", roomTypeCode: "DLX" };
const guest = {
  ...hotel,
  reservationId: "R-2001",
  lastModifiedDateTime: now(),
  status: "CONFIRMED",
  numberOfRooms: 1,
  roomStays: [{ ...stay, groupBlockCode: "CONF27" }],
};

await bellhop.groups.send([block(25, 0)], { waitForOutcomes: true });
await bellhop.reservations.send([guest], { waitForOutcomes: true });
// The hotel releases five rooms (wash) and counts the pickup: send the complete master again.
await bellhop.groups.send([block(20, 1)], { waitForOutcomes: true });

// The result: 20 held, 1 picked up by the master and by the reservations, 5 released.
const night = { from: "2027-09-10", to: "2027-09-10" };
for (const item of (await get("/api/insight/v1/blocks", { ...hotel, ...night })).items)
  for (const name of ["blocks", "pickedUp", "pickedUpRebuilt", "remaining", "wash"])
    console.log(`${name}: ${item[name]}`);
