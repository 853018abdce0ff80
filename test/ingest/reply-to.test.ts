import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let calls = 0;
const listener = createServer((socket) => {
  calls += 1;
  socket.destroy();
});
before(async () => {
  service = await startTestService();
  await once(listener.listen(0), "listening");
});
after(async () => {
  listener.close();
  await service.stop();
});

test("a ReplyTo address is stored and shown; a non-public one is never called, even if the client's origins allow it", async () => {
  const { port } = listener.address() as AddressInfo;
  const hosts = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"];
  const origins = hosts.map((host) => `http://${host}:${port}`);
  const allowed = await service.newClient({ replyToOrigins: [`http://127.0.0.1:${port}`] });
  for (const as of [service.client, allowed]) {
    for (const origin of [...origins, "http://169.254.169.254", "http://10.0.0.1"]) {
      const replyTo = `${origin}/answers?to=http://127.0.0.1:${port}/`;
      const accepted = await service.post("inventories", [inventoryRecord(), {}], {
        as,
        headers: { replyto: replyTo, prefer: "handling=lenient" },
      });
      assert.equal(accepted.status, 202, accepted.text);
      const path = accepted.headers.get("location") ?? assert.fail("no Location");
      await until(async () => (await service.get(path, { as })).json()["status"] === "applied", 20_000);
      assert.equal((await service.get(path, { as })).json()["replyTo"], replyTo);
    }
  }
  assert.equal(calls, 0);
});
