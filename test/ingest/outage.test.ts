import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, isOnCitus, type TestDatabase } from "../support/database.ts";
import { openRoad } from "../support/database-road.ts";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

test("while the database is away a bearer token is answered 503, never 500 or 403, and served again when it is back", async (t) => {
  const road = await openRoad(database.url);
  const service = await startTestService({}, { database: { ...database, url: road.url } });
  t.after(async () => {
    await service.stop();
    await road.close();
  });
  const records = [inventoryRecord()];
  assert.equal((await service.post("inventories", records)).status, 202);
  await road.close();
  const asked = {
    push: () => service.post("inventories", records),
    read: () => service.get("/api/public/v1/requests"),
    forged: () => service.get("/api/public/v1/requests", { headers: { authorization: "Bearer a.b.c" } }),
  };
  // What is known of a token serves for up to a second; from then on the database is asked.
  for (const [name, ask] of Object.entries(asked)) {
    await until(async () => {
      const answer = await ask();
      if (name === "forged" && answer.status === 403) return false;
      // The worker of Citus that has the hotel is there.
      if (name === "push" && answer.status === 202 && (await isOnCitus())) return false;
      const { message } = errorObject(answer, 503, "bellhop.accept.Unavailable");
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/, name);
      return message.startsWith("The database cannot be reached now");
    }, 10_000);
  }
  await road.reopen();
  await until(async () => (await asked.push()).status === 202, 10_000);
  assert.equal((await asked.read()).status, 200);
  assert.equal((await asked.forged()).status, 403);
});
