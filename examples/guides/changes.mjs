import { bellhop, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

// The current end of the feed: changes after it are new. Store the cursor together with your result.
let cursor;
const kept = (position) => {
  cursor = position.cursor;
};
const query = { ...hotel, resource: "inventories" };
for await (const _ of bellhop.changes({ ...query, from: "now", untilCaughtUp: true, onCursor: kept }));

// Change something: another count on each run, because a record with the same content is not a change …
const night = {
  ...hotel,
  createDateTime: now(),
  occupancyDate: "2028-02-01",
  roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 90, roomsSold: new Date().getSeconds() }],
};
await bellhop.inventories.send([night]);

// … and read it from the feed. The loop waits for more changes forever: leave it after the first one, or after a time.
console.log("waiting for the change, 25 s at most");
const signal = AbortSignal.timeout(25_000);
for await (const change of bellhop.changes({ ...query, cursor, signal })) {
  cursor = change.cursor;
  console.log(change.change, change.key, change.sourceTime);
  break;
}
