import { randomUUID } from "node:crypto";
import { bellhop, now, PROPERTY } from "./bellhop.mjs";

const night = (roomsSold) => ({
  clientCode: "DEMO",
  propertyCode: PROPERTY,
  createDateTime: now(),
  occupancyDate: "2027-12-24",
  roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold }],
});

// The client derives a key for each batch, waits for Retry-After, and retries where that is safe.
const batch = [night(12)];
const report = await bellhop.inventories.send(batch, { waitForOutcomes: true });
console.log(`accepted ${report.accepted} of ${report.records}, applied ${report.outcomes?.applied}`);

// Manually: the same body under the same key is one request, however often it is sent.
const key = randomUUID();
const body = JSON.stringify(batch);
const headers = { "content-type": "application/json", "idempotency-key": key };
const push = (sent) => bellhop.fetch("/api/public/v1/inventories", { method: "POST", headers, body: sent });
const first = await (await push(body)).json();
const again = await (await push(body)).json();
console.log("one request, sent twice:", first.requestId === again.requestId);

// Another body under the same key is an error.
const refused = await push(JSON.stringify([night(13)]));
console.log(refused.status, (await refused.json()).exception);
