import { BellhopClient } from "@bellhop/client";

const { BASE_URL = "http://127.0.0.1:8080", PROPERTY = "LON01" } = process.env;
const { CLIENT_ID = "", CLIENT_SECRET = "" } = process.env;

// The client takes a token when it needs one, and keeps it.
const bellhop = new BellhopClient({ baseUrl: BASE_URL, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET });

const batch = [
  {
    clientCode: "DEMO",
    propertyCode: PROPERTY,
    createDateTime: new Date().toISOString(),
    occupancyDate: "2027-06-01",
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
  },
];
const report = await bellhop.inventories.send(batch, { waitForOutcomes: true });
console.log("accepted:", report.requestIds[0]);
console.log(`applied: ${report.outcomes?.applied} of ${report.records}`);
