import type pg from "pg";
import { namedStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { beginCursorEpoch } from "../../query/changes/change-cursor.ts";

/** Clears the positions of change endpoints: changes sent to them may be lost, and new changes may reuse their numbers. */
const voidWebhookPositions = namedStatement(
  "void-webhook-positions",
  `update bellhop.webhook_endpoint set positions = null where 'changes.available' = any (events)`,
);
/** Pauses change endpoints, as $1 with reason $2, until their records have been read again. */
const pauseChangeEndpoints = namedStatement(
  "pause-change-endpoints",
  `update bellhop.webhook_endpoint set paused_at = clock_timestamp(), paused_by = $1, pause_reason = $2
  where 'changes.available' = any (events) and paused_at is null`,
);

/**
 * Invalidates all change cursors and pauses change endpoints: changes sent after the restored state was taken are unknown here, and their
 * numbers will be reused. Returns the number of paused endpoints. No node may run.
 */
export async function voidCursors(client: pg.ClientBase, by: string, why: string): Promise<number> {
  await beginCursorEpoch(client);
  const reason = `${why}: read the records again, then resume this endpoint.`;
  await client.query(voidWebhookPositions);
  return (await client.query({ ...pauseChangeEndpoints, values: [by, reason] })).rowCount ?? 0;
}

/** Raises the closed timestamp, so that no batch gets this id or a lower one (src/insight/watermark.ts). */
export async function raiseClosedTimestamp(client: pg.ClientBase, requestId: string): Promise<void> {
  for (const table of ["closed_timestamp", "bucket_closed_timestamp"])
    await client.query(`update bellhop.${table} set promised = greatest(promised, $1::uuid)`, [requestId]);
}

/**
 * Prepares a filled database for use; the caller then removes the unfinished mark. `nothingLost`: nothing was accepted in the original
 * afterwards, so cursors and positions remain valid.
 */
export async function settleFilled(
  client: pg.ClientBase,
  { nothingLost }: { readonly nothingLost: boolean },
): Promise<void> {
  await client.query("reset synchronous_commit");
  await withTransaction(client, async () => {
    // Their sessions belong to another database and write no more.
    await client.query("update bellhop.log_writer set closed_at = clock_timestamp() where closed_at is null");
    if (!nothingLost) await voidCursors(client, "restore", "The database was restored from a backup");
    // Nodes detect changes by the epoch.
    await client.query("update bellhop.auth_epoch set epoch = epoch + 1");
  });
}
