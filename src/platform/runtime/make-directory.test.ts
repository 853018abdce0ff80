import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeDirectory } from "./make-directory.ts";

test("a directory and those above it are made once, by however many at the same time", async (t) => {
  const top = await mkdtemp(join(tmpdir(), "bellhop-directory-"));
  t.after(() => rm(top, { recursive: true }));
  for (let time = 0; time < 50; time += 1) {
    const directory = join(top, `${time}`, "a", "b");
    await Promise.all(Array.from({ length: 8 }, () => makeDirectory(directory, 0o700)));
    assert.equal((await stat(directory)).isDirectory(), true);
  }
});
