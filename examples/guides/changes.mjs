import { bellhop, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

// Where the feed ends now: what comes from here on is new. Keep the cursor with what you make of the changes.
let cursor;
const kept = (position) => {
  cursor = position.cursor;
};
const query = { ...hotel, resource: "inventories" };
for await (const _ of bellhop.changes({ ...query, from: "now", untilCaughtUp: true, onCursor: kept }));

// Something changes: another count each time, since a record with the content it had is no change …
const night = {
  ...hotel,
  createDateTime: now(),
  occupancyDate: "2028-02-01",
  roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 90, roomsSold: new Date().getSeconds() }],
};
await bellhop.inventories.send([night]);

// … and appears in the feed. The loop waits for more changes without end: leave it after the first, or after a time.
console.log("waiting for the change, 25 s at most");
const signal = AbortSignal.timeout(25_000);
for await (const change of bellhop.changes({ ...query, cursor, signal })) {
  cursor = change.cursor;
  console.log(change.change, change.key, change.sourceTime);
  break;
}
