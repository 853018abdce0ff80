import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test("a foreign code is noted cut to 128 characters, also where the cut halves a character", async () => {
  const clientCode = `${"x".repeat(127)}😀`;
  const answer = await service.post("inventories", [
    inventoryRecord({ clientCode, propertyCode: "😀".repeat(300) }),
  ]);
  assert.equal(answer.status, 403, answer.text);
  assert.equal(answer.bytes.length, 0);
  const { rows } = await service.pool.query(
    "select detail from bellhop.audit_entry where what = 'refuse-foreign-property'",
  );
  assert.deepEqual(rows, [
    {
      detail: {
        resource: "inventories",
        index: 0,
        clientCode: `${"x".repeat(127)}\ufffd`,
        propertyCode: "😀".repeat(64),
      },
    },
  ]);
});
