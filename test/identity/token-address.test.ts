import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

const AUTH_ADDRESSES = [
  ["POST", "/api/oauth2/token"],
  ["POST", "/api/oauth2/revoke"],
  ["POST", "/api/oauth2/introspect"],
  ["GET", "/.well-known/oauth-authorization-server"],
  ["GET", "/.well-known/jwks.json"],
] as const;

let service: TestService;
before(async () => {
  service = await startTestService({ authPort: 0 });
});
after(() => service.stop());

test("with AUTH_PORT the token server has its own address, and the data endpoints accept its tokens", async () => {
  assert.notEqual(service.service.authAddress, service.address);
  assert.equal((await service.post("inventories", [inventoryRecord()])).status, 202);
});

test("each of the two serves nothing of the other", async () => {
  for (const [method, path] of AUTH_ADDRESSES) {
    errorObject(await service.send(method, path, { as: null }), 404, "bellhop.http.NotFound");
    const there = await fetch(new URL(path, service.service.authAddress), { method });
    await there.arrayBuffer();
    assert.notEqual(there.status, 404, path);
  }
  for (const path of ["/api/public/v1/inventories", "/metrics"]) {
    const there = await fetch(new URL(path, service.service.authAddress), { method: "POST" });
    assert.equal(there.status, 404, await there.text());
  }
});

test("the metadata names the token server's address, and AUTH_URL where that is set", async () => {
  const read = async (address: string) =>
    (await (await fetch(new URL("/.well-known/oauth-authorization-server", address))).json()) as Record<
      string,
      string
    >;
  assert.equal(
    (await read(service.service.authAddress))["token_endpoint"],
    `${service.service.authAddress}/api/oauth2/token`,
  );
  const named = await startTestService({ authUrl: "https://auth.example" }, { database: service.database });
  try {
    assert.equal((await read(named.address))["token_endpoint"], "https://auth.example/api/oauth2/token");
  } finally {
    await named.stop();
  }
});
