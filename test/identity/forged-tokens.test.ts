import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const push = (authorization: string) =>
  service.post("inventories", [inventoryRecord()], { as: null, headers: { authorization } });

test("a forged token is always 403 with an empty body, never 429, and does not count against its client", async () => {
  const client = await service.newClient({ requestRate: 1, requestBurst: 1 });
  const token = await client.token();
  // The header and the claims are the client's own, the signature is not.
  const forged = `${token.slice(0, token.lastIndexOf(".") + 1)}${"A".repeat(86)}`;
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => push(`Bearer ${forged}`)));
    for (const answer of answers) {
      assert.equal(answer.status, 403);
      assert.equal(answer.bytes.length, 0);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
      assert.equal(answer.headers.get("ratelimit"), null);
    }
  }
  assert.equal((await push(`Bearer ${token}`)).status, 202);
  const atOnce = await Promise.all(Array.from({ length: 10 }, () => push(`Bearer ${token}`)));
  assert.ok(atOnce.some(({ status }) => status === 429));
  assert.equal((await push(`Bearer ${forged}`)).status, 403);
});
