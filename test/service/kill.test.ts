import assert from "node:assert/strict";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { NotHere } from "../faults/campaign-command.ts";
import type { CampaignReport } from "../faults/campaign-report.ts";
import { runKills } from "../faults/kill-campaign.ts";
import { LossyDisk } from "../faults/lossy-disk.ts";

/** `npm run faults -- kill` does the same hundreds of times, and judges how long it takes. */
function assertKept(report: CampaignReport, kills: number): void {
  const { problems, lost, doubled, seed } = report;
  assert.deepEqual({ problems, lost, doubled }, { problems: [], lost: 0, doubled: 0 }, `seed ${seed}`);
  assert.ok(report.faults >= kills && report.accepted > 0);
}

async function whereMountable(t: TestContext, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    t.skip(error.message);
  }
}

test("every 202 is stored once after three kills of the service under load", async () => {
  assertKept(await runKills({ target: "service", times: 3, seed: 11, senders: 4 }), 3);
});

test("every 202 is stored once after two kills of PostgreSQL under a running service", async () => {
  assertKept(await runKills({ target: "postgres", times: 2, seed: 12, senders: 4 }), 2);
});

test("every 202 is stored once after power was lost twice, with all that was not synced", async (t) => {
  await whereMountable(t, async () => {
    assertKept(await runKills({ target: "power", times: 2, seed: 13, senders: 4 }), 2);
  });
});

test("the disk of that test keeps what was synced, and nothing else", async (t) => {
  await whereMountable(t, async () => {
    const disk = await LossyDisk.mount();
    const [synced, written] = ["synced", "written"].map((name) => join(disk.directory, name));
    assert.ok(synced !== undefined && written !== undefined);
    const file = await open(synced, "w");
    await file.write("kept");
    await file.sync();
    await file.close();
    await writeFile(written, "lost");
    await disk.losePower();
    assert.equal(await readFile(synced, "utf8"), "kept");
    await assert.rejects(readFile(written), { code: "ENOENT" });
    await disk.unmount();
  });
});
