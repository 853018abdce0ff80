import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open } from "../support/backfill-fixture.ts";
import { errorObject } from "../support/error-object.ts";
import { groupRecord, inventoryRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const MESSAGE = "An internal error occurred; the log has the details under this request id.";

/** Runs `work` while a table that the service needs is gone, which no input can cause and no retry mends. */
async function without<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  await service.pool.query(`alter table bellhop.${table} rename to ${table}_gone`);
  try {
    return await work();
  } finally {
    await service.pool.query(`alter table bellhop.${table}_gone rename to ${table}`);
  }
}

for (const [resource, record] of [
  ["inventories", inventoryRecord],
  ["reservations", reservationRecord],
  ["groups", groupRecord],
] as const) {
  test(`${resource}: an internal failure is 500 with the error object, and nothing of its inside`, async () => {
    const propertyCode = `NEW-${resource}`;
    const answer = await without("property", () => service.post(resource, [record({ propertyCode })]));
    const body = errorObject(answer, 500, "bellhop.http.Internal");
    assert.equal(body.error, "Internal Server Error");
    assert.equal(body.message, MESSAGE);
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json\b/);
    assert.equal((await service.post(resource, [record({ propertyCode })])).status, 202);
  });
}

test("the failure is in the log, under the id that the answer names", async () => {
  const answer = await without("property", () =>
    service.post("inventories", [inventoryRecord({ propertyCode: "LOGGED" })]),
  );
  const id = answer.headers.get("x-request-id") ?? assert.fail("no X-Request-Id");
  const entries = service.logLines().map((line) => JSON.parse(line) as Record<string, unknown>);
  const failure = entries.find((entry) => entry["httpRequestId"] === id && entry["msg"] === "request failed");
  assert.equal(failure?.["code"], "bellhop.http.Internal");
  assert.equal((failure?.["err"] as { code?: string } | undefined)?.code, "42P01");
  assert.equal(
    entries.find((entry) => entry["httpRequestId"] === id && entry["msg"] === "request")?.["status"],
    500,
  );
});

test("an internal failure of the reading side is 500 with the error object too", async () => {
  const accepted = await service.post("inventories", [inventoryRecord()]);
  const path = accepted.headers.get("location") ?? assert.fail("no Location");
  errorObject(await without("accept_log", () => service.get(path)), 500, "bellhop.http.Internal");
  assert.equal((await service.get(path)).status, 200);
});

test("a backfill's log that cannot be opened is 503, as the ordinary one, and opened with the next batch", async () => {
  const backfillId = await open(service, "LON01", [
    { resource: "inventories", from: "2026-05-01", to: "2026-05-31" },
  ]);
  const batch = [inventoryRecord({ occupancyDate: "2026-05-01" })];
  const send = () => service.post("inventories", batch, { headers: { "backfill-id": backfillId } });
  errorObject(await without("log_writer", send), 503, "bellhop.accept.Unavailable");
  const answer = await send();
  assert.equal(answer.status, 202, answer.text);
});
