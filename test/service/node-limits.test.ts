import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

describe("limits shared by two nodes", () => {
  let database: TestDatabase;
  let one: TestService;
  let two: TestService;
  before(async () => {
    database = await createTestDatabase();
    one = await startTestService({}, { database });
    two = await startTestService({}, { database });
  });
  after(async () => {
    await one.stop();
    await two.stop();
    await database.drop();
  });

  /** How many of a burst of requests a node lets through, and what it leaves. */
  async function passed(node: TestService, as: TestClient, count: number): Promise<number> {
    await as.token();
    const answers = await Promise.all(
      Array.from({ length: count }, () => node.get("/api/public/v1/requests", { as })),
    );
    for (const { status } of answers) assert.ok(status === 200 || status === 429, String(status));
    return answers.filter(({ status }) => status === 200).length;
  }

  test("a client's request rate is divided between them, and whole again for a remaining one", async () => {
    const burst = 10;
    const newClient = () => one.newClient({ requestRate: 1, requestBurst: burst });
    /** Until a client that is new has so many requests of a node. */
    const untilPassed = (node: TestService, wanted: number) =>
      until(async () => (await passed(node, await newClient(), burst * 2)) === wanted, 20_000);
    await untilPassed(one, burst / 2);
    await untilPassed(two, burst / 2);
    const third = await startTestService({ roles: ["read"] }, { database });
    await untilPassed(one, 3);
    await third.stop();
    await untilPassed(two, burst / 2);
  });

  test("an Idempotency-Key is one request, whichever of them has it first", async () => {
    const body = [inventoryRecord()];
    for (let round = 0; round < 10; round += 1) {
      const headers = { "idempotency-key": `both-${round}` };
      const as = one.client;
      const answers = await Promise.all(
        [one, two, one, two].map((node) => node.post("inventories", body, { as, headers })),
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        [202, 202, 202, 202],
      );
      assert.equal(new Set(answers.map((answer) => answer.json()["requestId"])).size, 1);
    }
  });

  test("a client's tokens are counted together", async () => {
    const { clientId, clientSecret } = await one.newClient({ tokenBurst: 5 });
    const take = async ({ service }: TestService) => {
      const form = {
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: clientSecret,
      };
      const response = await fetch(new URL("/api/oauth2/token", service.authAddress), {
        method: "POST",
        body: new URLSearchParams(form),
      });
      await response.arrayBuffer();
      return response.status;
    };
    const statuses = await Promise.all(Array.from({ length: 12 }, (_, at) => take(at % 2 === 0 ? one : two)));
    assert.equal(statuses.filter((status) => status === 200).length, 5);
    assert.equal(statuses.filter((status) => status === 429).length, 7);
  });
});
