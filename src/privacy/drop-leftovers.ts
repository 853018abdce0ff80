import type pg from "pg";
import { dropStateSchema } from "../apply/state/state-schema.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { dropStrays } from "../retention/run-retention.ts";

/** Schemas of replays that never swapped; those that did keep the former state under another name. */
const findUnfinishedReplays = namedStatement(
  "find-unfinished-replays",
  `select nspname as name from pg_namespace where nspname ~ '^bellhop_replay_[a-z0-9]+$' order by nspname`,
);

/**
 * Drops what killed replays and retention runs left: copies of data that nothing reads, redacts or deletes. The caller keeps both off
 * (`withExclusiveWork`).
 */
export async function dropLeftovers(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(findUnfinishedReplays);
  for (const { name } of rows) await dropStateSchema(client, name);
  await dropStrays(client);
}
