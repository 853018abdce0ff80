import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { fireAtService, type ServiceFireReport } from "../hostile/fire-at-service.ts";

/** What each target must have been answered at least once, or the shots do not reach what they are for. */
const ANSWERED = {
  bodies: ["202", "400", "403", "404", "413", "415", "422", "431"],
  token: ["200", "400", "401", "405", "413", "415"],
  headers: ["202", "400", "404", "405", "431", "then 400"],
  reads: ["200", "400", "403", "404"],
} as const;

describe("requests from a seed", () => {
  const shots = { token: 1_000, headers: 1_000, reads: 1_000, bodies: 2_000 } as const;
  let reports: ServiceFireReport[];
  before(async () => {
    reports = await fireAtService({ shots, seed: 1, connections: 16 });
  });
  const check = (target: keyof typeof ANSWERED) => {
    const report = reports.find((one) => one.target === target) ?? assert.fail(target);
    assert.deepEqual(report.problems, []);
    assert.equal(report.fired, shots[target]);
    for (const status of ANSWERED[target])
      assert.ok((report.byStatus.get(status) ?? 0) > 0, `nothing was answered ${status}`);
  };

  test("two thousand bad bodies and requests: no 5xx, no hang, and the log contains exactly the 202s", () => {
    check("bodies");
  });
  test("a thousand at the token endpoint: every answer as documented, no token for another, nothing private said", () => {
    check("token");
  });
  test("a thousand headers and framings: one response per request, and nothing within a body counts as a request", () => {
    check("headers");
  });
  test("a thousand questions: every answer as documented, and nothing of others in any", () => {
    check("reads");
  });
});
