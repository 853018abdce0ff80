import assert from "node:assert/strict";
import { test } from "node:test";
import { runFeed } from "../faults/feed-campaign.ts";

test("a consumer that is killed again and again while nodes write and are killed is told every change, once", async () => {
  const report = await runFeed({ nodes: 2, kills: 12, seed: 5, senders: 2, nodeKillEveryMs: 3_000 });
  assert.deepEqual(report.problems, []);
  assert.equal(report.kills, 12);
  assert.ok(report.fruitful > 0 && report.changes > 0);
  assert.equal(report.told - report.changedBack, report.changes);
});
