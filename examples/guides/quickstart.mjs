import { bellhop, now, PROPERTY } from "./bellhop.mjs";

const batch = [
  {
    clientCode: "DEMO",
    propertyCode: PROPERTY,
    createDateTime: now(),
    occupancyDate: "2027-06-01",
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
  },
];
const report = await bellhop.inventories.send(batch, { waitForOutcomes: true });
console.log("accepted:", report.requestIds[0]);
console.log(`applied: ${report.outcomes?.applied} of ${report.records}`);
