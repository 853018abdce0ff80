import assert from "node:assert/strict";
import { test } from "node:test";
import { NotHere } from "../faults/campaign-command.ts";
import { runFsync } from "../faults/fsync-campaign.ts";

test("failing or slow syncs lose no 202: PostgreSQL panics, and the service recovers", async (t) => {
  try {
    const { problems, lost, doubled, ofWhat } = await runFsync({ times: 2, seed: 22977, senders: 3 });
    assert.deepEqual({ problems, lost, doubled }, { problems: [], lost: 0, doubled: 0 });
    assert.deepEqual(ofWhat, { sync: 1, slow: 1 });
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    t.skip(error.message);
  }
});
