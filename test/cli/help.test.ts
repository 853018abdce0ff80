import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

test("help of every command is as in test/golden/cli-help.txt (npm run generate -- help)", async () => {
  const script = fileURLToPath(new URL("../../scripts/write-cli-help.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, "--print"]);
  const golden = await readFile(new URL("../golden/cli-help.txt", import.meta.url), "utf8");
  assert.equal(stdout, golden);
});
