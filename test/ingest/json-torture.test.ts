import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ownCases, tortureJson } from "../hostile/json-torture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test("valid JSON is stored and read back byte for byte, invalid JSON is 400, as a body and within a record", async () => {
  const cases = ownCases();
  const report = await tortureJson(service, cases);
  assert.deepEqual(report.problems, []);
  assert.deepEqual(report.refusedWithPointer, []);
  const accepted = cases.filter(({ expected }) => expected === "accepted").length;
  assert.ok(accepted > 60);
  assert.ok(report.keptExactly >= accepted);
});
