import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestService } from "../support/service.ts";
import { judgeFindings } from "./judge-findings.ts";

// `npm run campaign -- judge-findings` is the whole of it: 200 nights with one cause, and 100 with two.
test("the planted cause of a night is its first finding, and two of them are among the first three", async () => {
  const service = await startTestService();
  try {
    const one = await judgeFindings(service, 7, 1, 80, 1);
    assert.ok(one.nights >= 10 && one.first >= one.nights - 1, one.failures.join("\n"));
    const two = await judgeFindings(service, 7, 1, 80, 2);
    assert.ok(two.nights >= 10 && two.firstThree >= 0.8 * two.nights, two.failures.join("\n"));
  } finally {
    await service.stop();
  }
});
