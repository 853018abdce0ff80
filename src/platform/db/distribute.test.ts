import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { COORDINATOR_TABLES, DISTRIBUTED_TABLES } from "./distribute.ts";

test("every table lies by bucket on the workers of Citus or on the coordinator, and a list says which", async () => {
  // What the migrations make: check:schema holds it to them.
  const schema = await readFile(new URL("../../../sql/schema.sql", import.meta.url), "utf8");
  const tables = [...schema.matchAll(/^create table (\S+) \($/gm)].map(([, name]) => name);
  assert.ok(tables.length > 0);
  assert.deepEqual([...DISTRIBUTED_TABLES, ...COORDINATOR_TABLES].sort(), tables.sort());
});
