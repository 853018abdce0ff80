import { setTimeout as delay } from "node:timers/promises";
import { bellhop, get, now, PROPERTY } from "./bellhop.mjs";

const hotel = { clientCode: "DEMO", propertyCode: PROPERTY };

// 1. Declare the data: three nights of inventory.
const resource = { resource: "inventories", from: "2025-01-01", to: "2025-01-03", expectedRecords: 3 };
const opened = await bellhop.fetch("/api/public/v1/backfills", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ ...hotel, note: "go-live", resources: [resource] }),
});
if (!opened.ok) throw new Error(`${opened.status}: ${await opened.text()}`);
const { backfillId } = await opened.json();

/** Sends past nights, each batch with the header of the backfill. */
async function send(...dates) {
  const createDateTime = now();
  const nights = dates.map((occupancyDate) => ({
    ...hotel,
    createDateTime,
    occupancyDate,
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 20 }],
  }));
  const headers = { "Backfill-Id": backfillId };
  const report = await bellhop.inventories.send(nights, { headers, waitForOutcomes: true });
  console.log("applied:", report.outcomes?.applied);
}

// 2. Send it.
await send("2025-01-01", "2025-01-03");

// 3. List what is missing.
const gaps = await get(`/api/public/v1/backfills/${backfillId}/gaps`, {});
for (const gap of gaps.items) console.log(gap.kind, gap.date ?? "");
await send("2025-01-02");

// 4. Close it. While a batch is very new the response is NotReady: try again. Any other error says what is wrong.
for (;;) {
  const closed = await bellhop.fetch(`/api/public/v1/backfills/${backfillId}/close`, { method: "POST" });
  const answer = await closed.text();
  if (closed.ok) {
    console.log(JSON.parse(answer).state);
    break;
  }
  if (!answer.includes('"bellhop.backfill.NotReady"')) throw new Error(`${closed.status}: ${answer}`);
  await delay(1000 * closed.headers.get("retry-after"));
}
