import { bellhop, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

// Where the feed ends now: what comes from here on is new. Keep the cursor with what you make of the changes.
let cursor;
const kept = (position) => {
  cursor = position.cursor;
};
const query = { ...hotel, resource: "inventories" };
for await (const _ of bellhop.changes({ ...query, from: "now", untilCaughtUp: true, onCursor: kept }));

// Something changes …
const night = {
  ...hotel,
  createDateTime: now(),
  occupancyDate: "2028-02-01",
  roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 5 }],
};
await bellhop.inventories.send([night]);

// … and appears in the feed. The loop waits for more changes, so leave it after the first.
for await (const change of bellhop.changes({ ...query, cursor })) {
  cursor = change.cursor;
  console.log(change.change, change.key, JSON.stringify(change.record));
  break;
}
