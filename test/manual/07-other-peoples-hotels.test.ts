import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { inventory } from "./records.ts";
import { itemsOf } from "./service-of-a-page.ts";

const at = (propertyCode: string) => ({ ...inventory("2025-06-01T02:00:00Z", 31), propertyCode });

/**
 * Page 7. What a client may push and read is decided per client: resources by scopes, hotels by grants, each a pair of
 * clientCode and propertyCode. One record outside the grants makes the whole request 403, with an empty body.
 */
describe("07 other people's hotels", () => {
  let service: TestService;
  let paris: TestClient;
  before(async () => {
    service = await startTestService();
    paris = await service.newClient({ grants: [{ clientCode: "ACME", propertyCode: "PAR01" }] });
  });
  after(() => service.stop());

  test("a client pushes its own hotel", async () => {
    assert.equal((await service.post("inventories", [at("PAR01")], { as: paris })).status, 202);
  });

  test("one record of another hotel refuses the whole batch, and nothing is stored", async () => {
    const answer = await service.post("inventories", [at("PAR01"), at("LON01")], { as: paris });
    assert.equal(answer.status, 403);
    assert.equal(answer.bytes.length, 0);
    assert.equal(
      answer.headers.get("www-authenticate"),
      'Bearer error="insufficient_scope", error_description="Record 1 names the property ACME/LON01, which is not granted to this client."',
    );
    const path = "/api/public/v1/inventories?clientCode=ACME&propertyCode=LON01";
    assert.deepEqual(await itemsOf(service, path), []);
  });

  test("reading another hotel is refused in the same way, whether it exists or not", async () => {
    for (const propertyCode of ["LON01", "NOWHERE"]) {
      const path = `/api/public/v1/inventories?clientCode=ACME&propertyCode=${propertyCode}`;
      assert.equal((await service.get(path, { as: paris })).status, 403);
    }
  });

  test("a token may carry less than its client has", async () => {
    const authorization = `Bearer ${await paris.token("read")}`;
    const answer = await service.post("inventories", [at("PAR01")], { as: null, headers: { authorization } });
    assert.equal(answer.status, 403);
  });

  test("every refusal leaves an entry in the operator's audit", async () => {
    const { rows } = await service.pool.query<{ client_id: string }>(
      "select client_id from bellhop.audit_entry where what = 'refuse-foreign-property'",
    );
    assert.equal(rows.length, 3);
    assert.ok(rows.every((row) => row.client_id === paris.clientId));
  });
});
