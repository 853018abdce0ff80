import assert from "node:assert/strict";
import { test } from "node:test";
import type { CampaignReport } from "../faults/campaign-report.ts";
import { runKills } from "../faults/kill-campaign.ts";

/** `npm run faults -- kill` does the same hundreds of times, and judges how long it takes. */
function assertKept(report: CampaignReport, kills: number): void {
  const { problems, lost, doubled, seed } = report;
  assert.deepEqual({ problems, lost, doubled }, { problems: [], lost: 0, doubled: 0 }, `seed ${seed}`);
  assert.ok(report.faults >= kills && report.accepted > 0);
}

test("every 202 is stored once after three kills of the service under load", async () => {
  assertKept(await runKills({ target: "service", times: 3, seed: 11, senders: 4 }), 3);
});

test("every 202 is stored once after two kills of PostgreSQL under a running service", async () => {
  assertKept(await runKills({ target: "postgres", times: 2, seed: 12, senders: 4 }), 2);
});
