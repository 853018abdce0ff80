import assert from "node:assert/strict";
import { test } from "node:test";
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
