import assert from "node:assert/strict";
import { test } from "node:test";
import { NotHere } from "../faults/campaign-command.ts";
import { runDisk } from "../faults/disk-campaign.ts";

test("a full disk loses no 202: batches are refused below the floor, and the service recovers after PostgreSQL's panic", async (t) => {
  try {
    const { problems, lost, doubled, ofWhat } = await runDisk({
      times: 2,
      seed: 10,
      senders: 3,
      diskMib: 512,
    });
    assert.deepEqual({ problems, lost, doubled }, { problems: [], lost: 0, doubled: 0 });
    assert.deepEqual(ofWhat, { floor: 1, wal: 1 });
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    t.skip(error.message);
  }
});
