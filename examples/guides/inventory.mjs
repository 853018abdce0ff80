import { bellhop, now, PROPERTY } from "./bellhop.mjs";

/** One record per night with all room types of the hotel: a newer record replaces the older one completely. */
function night(occupancyDate, sold) {
  return {
    clientCode: "DEMO",
    propertyCode: PROPERTY,
    createDateTime: now(),
    occupancyDate,
    roomTypeInventories: [
      { roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: sold.DLX },
      { roomTypeCode: "STD", roomTypeCapacity: 110, roomsSold: sold.STD },
    ],
  };
}

const batch = [night("2027-07-14", { DLX: 31, STD: 87 }), night("2027-07-15", { DLX: 42, STD: 90 })];
const report = await bellhop.inventories.send(batch, { waitForOutcomes: true });

// Both are applied. DLX on the 15th is overbooked, which is legal and only raises a warning.
console.log("applied:", report.outcomes?.applied);
for (const requestId of report.requestIds) {
  const { records } = await bellhop.requests.get(requestId);
  for (const { key, warnings } of records)
    for (const { code, pointer } of warnings) console.log(key, code, pointer);
}

// The current nights, verbatim.
const which = { clientCode: "DEMO", propertyCode: PROPERTY, from: "2027-07-14", to: "2027-07-15" };
for await (const { occupancyDate, roomTypeInventories } of bellhop.inventories.list(which))
  console.log(occupancyDate, ...roomTypeInventories.map(({ roomsSold }) => roomsSold));
