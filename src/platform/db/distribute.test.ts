import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { COORDINATOR_TABLES, DISTRIBUTED_TABLES } from "./distribute.ts";

test("every table lies by bucket on the workers of Citus or on the coordinator, and a list says which", async () => {
  // What the migrations make: check:schema holds it to them.
  const schema = await readFile(new URL("../../../sql/schema.sql", import.meta.url), "utf8");
  const tables = [...schema.matchAll(/^create table (\S+) \($/gm)].map(([, name]) => name);
  assert.ok(tables.length > 0);
  assert.deepEqual([...DISTRIBUTED_TABLES, ...COORDINATOR_TABLES].sort(), tables.sort());
});

test("only src/platform/db asks whether tables are distributed, and only its statements are made for Citus", async () => {
  const source = fileURLToPath(new URL("../../", import.meta.url));
  const asking: string[] = [];
  for await (const file of glob("**/*.{ts,sql}", { cwd: source })) {
    if (file.startsWith("platform/db/") || file.endsWith(".test.ts")) continue;
    const text = await readFile(`${source}${file}`, "utf8");
    if (/isDistributed|pg_dist_|run_command_on_|create_distributed_|citus_\w+\(/.test(text))
      asking.push(file);
  }
  assert.deepEqual(asking, []);
});
