import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

describe("nodes with a role each", () => {
  let database: TestDatabase;
  const nodes: TestService[] = [];
  let accepting: TestService;
  let applying: TestService;
  let reading: TestService;
  before(async () => {
    database = await createTestDatabase();
    const start = async (...[overrides]: Parameters<typeof startTestService>) => {
      const node = await startTestService(overrides, { database });
      nodes.push(node);
      return node;
    };
    accepting = await start({ roles: ["accept"] });
    applying = await start({ roles: ["apply"] });
    reading = await start({ roles: ["read"] });
  });
  after(async () => {
    for (const node of nodes) await node.stop();
    await database.drop();
  });

  const path = "/api/public/v1/inventories";

  test("do together what one does alone", async () => {
    const accepted = await accepting.post("inventories", [inventoryRecord()]);
    assert.equal(accepted.status, 202);
    const status = `/api/public/v1/requests/${accepted.json()["requestId"]}`;
    const as = accepting.client;
    await until(async () => (await reading.get(status, { as })).json()["status"] === "applied", 20_000);
  });

  test("have not the endpoints of the others", async () => {
    const as = accepting.client;
    assert.equal((await accepting.get("/api/public/v1/requests")).status, 404);
    assert.equal((await reading.post("inventories", [inventoryRecord()], { as })).status, 405);
    assert.equal((await reading.send("POST", "/api/oauth2/token", { as: null })).status, 404);
    assert.equal((await applying.get(path, { as })).status, 404);
    assert.equal((await applying.post("inventories", [inventoryRecord()], { as })).status, 404);
  });

  test("say which they have where they say whether they are ready", async () => {
    for (const [node, role] of [
      [accepting, "accept"],
      [applying, "apply"],
      [reading, "read"],
    ] as const) {
      await until(async () => (await node.get("/readyz", { as: null })).status === 200, 10_000);
      assert.deepEqual((await node.get("/readyz", { as: null })).json(), { status: "ready", roles: [role] });
    }
  });

  test("announce their stop, and meanwhile respond on connections that they then close", async () => {
    const leaving = await startTestService({}, { database });
    nodes.push(leaving);
    leaving.service.leave();
    const answer = await leaving.get("/readyz", { as: null });
    assert.equal(answer.status, 503);
    assert.equal(answer.json()["reason"], "The node is stopping.");
    const accepted = await leaving.post("inventories", [inventoryRecord()]);
    assert.equal(accepted.status, 202);
    assert.equal(accepted.headers.get("connection"), "close");
  });
});
