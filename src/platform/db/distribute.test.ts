import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { DISTRIBUTED_TABLES } from "./distribute.ts";

/** What stays on the coordinator. */
const COORDINATOR_TABLES = [
  "bellhop.alert",
  "bellhop.audit_entry",
  "bellhop.auth_epoch",
  "bellhop.backfill",
  "bellhop.backfill_signature",
  "bellhop.certification",
  "bellhop.certification_event",
  "bellhop.client",
  "bellhop.client_grant",
  "bellhop.client_secret",
  "bellhop.denied_token",
  "bellhop.erasure",
  "bellhop.erasure_subject",
  "bellhop.instance",
  "bellhop.log_writer",
  "bellhop.operator",
  "bellhop.operator_session",
  "bellhop.payload_key",
  "bellhop.presence",
  "bellhop.privacy_version",
  "bellhop.property",
  "bellhop.property_figures",
  "bellhop.property_setting",
  "bellhop.closed_timestamp",
  "bellhop.retention_horizon",
  "bellhop.settings_version",
  "bellhop.signing_key",
  "bellhop.status_mapping",
  "bellhop.subscription",
  "bellhop.subscription_message",
  "bellhop.token_bucket",
  "bellhop.webhook_attempt",
  "bellhop.webhook_endpoint",
  "bellhop.webhook_message",
  "bellhop.webhook_secret",
  "bellhop.webhook_shard",
  "bellhop_migration.applied",
];

test("a list states for every table whether it is distributed by bucket or local to the coordinator", async () => {
  // What the migrations make: `npm run check -- schema` holds it to them.
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
