import assert from "node:assert/strict";
import { test } from "node:test";
import { ROTATIONS, runRotations } from "../faults/rotations-campaign.ts";

// Some 30 seconds, most of which two nodes take to be started twice: without a restart there is no other KEY_ENCRYPTION_KEY.
test("everything that is secret is replaced once under load, on two nodes, and no request and no token is refused", async () => {
  const enough = new AbortController();
  let replaced = 0;
  const report = await runRotations({
    ...{ nodes: 2, seed: 7, senders: 2, everyMs: 0, durationMs: Number.POSITIVE_INFINITY },
    enough: enough.signal,
    told() {
      replaced += 1;
      if (replaced === ROTATIONS.length) enough.abort();
    },
  });
  assert.deepEqual(report.problems, []);
  assert.deepEqual(Object.keys(report.rotations).sort(), [...ROTATIONS].sort());
  assert.ok(report.accepted > 0 && report.tokens > 0);
});
