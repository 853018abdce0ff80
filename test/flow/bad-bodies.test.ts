import assert from "node:assert/strict";
import { test } from "node:test";
import { fireAtService } from "../hostile/fire-at-service.ts";

test("two thousand bad bodies and requests: no 5xx, no hang, and the log holds what was answered 202", async () => {
  const report = await fireAtService({ count: 2_000, seed: 1, connections: 16 });
  assert.deepEqual(report.problems, []);
  assert.equal(report.fired, 2_000);
  for (const status of ["202", "400", "403", "404", "413", "415", "422", "431"]) {
    assert.ok((report.byStatus.get(status) ?? 0) > 0, `nothing was answered ${status}`);
  }
});
