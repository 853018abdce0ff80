import type pg from "pg";
import { namedStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { beginCursorEpoch } from "../../query/changes/change-cursor.ts";

/** Clears the positions of change endpoints: changes sent to them may be lost, and new changes may reuse their numbers. */
const voidWebhookPositions = namedStatement(
  "void-webhook-positions",
  `update bellhop.webhook_endpoint set positions = null where 'changes.available' = any (events)`,
);
/** Pauses change endpoints, by $1 with the reason $2, until somebody has read the records anew and resumes them. */
const pauseChangeEndpoints = namedStatement(
  "pause-change-endpoints",
  `update bellhop.webhook_endpoint set paused_at = clock_timestamp(), paused_by = $1, pause_reason = $2
  where 'changes.available' = any (events) and paused_at is null`,
);

/**
 * Invalidates all change cursors and pauses change endpoints: changes handed out after the restored state was taken are
 * unknown here, and their numbers will be reused. Returns how many endpoints it paused. No node may run.
 */
export async function voidCursors(client: pg.ClientBase, by: string, why: string): Promise<number> {
  await beginCursorEpoch(client);
  const reason = `${why}: read the records anew, then resume this endpoint.`;
  await client.query(voidWebhookPositions);
  return (await client.query({ ...pauseChangeEndpoints, values: [by, reason] })).rowCount ?? 0;
}

/** No batch gets this id or a smaller one any more, as if it had been promised (src/insight/watermark.ts). */
export async function promiseUpTo(client: pg.ClientBase, requestId: string): Promise<void> {
  for (const table of ["closed_timestamp", "bucket_closed_timestamp"])
    await client.query(`update bellhop.${table} set promised = greatest(promised, $1::uuid)`, [requestId]);
}

/**
 * Makes a filled database fit to be used; the caller then has it no longer say that it is unfinished. `nothingLost`: it stands where its original
 * stood when that was last used, so that cursors and positions mean what they meant.
 */
export async function settleFilled(
  client: pg.ClientBase,
  { nothingLost }: { readonly nothingLost: boolean },
): Promise<void> {
  await client.query("reset synchronous_commit");
  await withTransaction(client, async () => {
    // The sessions that wrote these were another database's: nothing will appear in them any more.
    await client.query("update bellhop.log_writer set closed_at = clock_timestamp() where closed_at is null");
    if (!nothingLost) await voidCursors(client, "restore", "The database was restored from a backup");
    // Nodes ask by its number whether anything has changed.
    await client.query("update bellhop.auth_epoch set epoch = epoch + 1");
  });
}
