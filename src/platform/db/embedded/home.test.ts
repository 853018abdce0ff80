import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { NotHere } from "../../../../test/faults/campaign-command.ts";
import { SmallDisk } from "../../../../test/faults/small-disk.ts";
import { EmbeddedPostgresError, prepareHome } from "./home.ts";

test("a DATA_DIR that cannot be a directory is refused in one line", async () => {
  // mkdir in /proc fails with ENOENT on Linux, and Node's recursive mkdir then never returns.
  for (const dataDir of [import.meta.filename, `${import.meta.filename}/below`, "/proc/bellhop/data"]) {
    await assert.rejects(
      prepareHome(dataDir),
      (error) => error instanceof EmbeddedPostgresError && error.message.includes(dataDir),
    );
  }
});

test("a full disk is refused with what it needs, a new database's and that of a restart", async (t) => {
  const disk = await SmallDisk.mount(8 * 1_048_576).catch((error: unknown) => {
    if (!(error instanceof NotHere)) throw error;
    t.skip(error.message);
  });
  if (disk === undefined) return;
  const dataDir = join(disk.directory, "data");
  const refuses = (said: RegExp) =>
    assert.rejects(
      prepareHome(dataDir),
      (error) => error instanceof EmbeddedPostgresError && said.test(error.message),
    );
  try {
    await refuses(/is full: \d MiB are free, and a new database needs 64\. Free some space, or set DATA_DIR/);
    await mkdir(join(dataDir, "postgres"));
    await disk.fill(0);
    await refuses(/is full: 0 MiB are free\. Free some space and start again; accepted batches are kept\./);
  } finally {
    await disk.unmount();
  }
});
