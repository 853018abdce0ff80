import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { withTransaction } from "../db/transaction.ts";
import { clearUnfinished } from "../db/unfinished.ts";
import { beginCursorEpoch } from "../feed/cursor-epoch.ts";

const voidWebhookPositions = readStatement(new URL("./sql/void-webhook-positions.sql", import.meta.url));
const pauseChangeEndpoints = readStatement(new URL("./sql/pause-change-endpoints.sql", import.meta.url));

/** The sessions that wrote these lanes were another database's: nothing will appear in them any more. */
async function sealLanes(client: pg.ClientBase): Promise<void> {
  await client.query("update bellhop.lane set sealed_at = clock_timestamp() where sealed_at is null");
}

/**
 * What was handed out after the state was taken that is here now is unknown, and will be handed out again: whoever holds a cursor is told so, and
 * endpoints that are told of changes are paused by `by` because of `why`. Answers how many were not paused before. No node may run.
 */
export async function voidWhatWasTold(client: pg.ClientBase, by: string, why: string): Promise<number> {
  await beginCursorEpoch(client);
  const reason = `${why}: read the records anew, then resume this endpoint.`;
  await client.query(voidWebhookPositions);
  return (await client.query({ ...pauseChangeEndpoints, values: [by, reason] })).rowCount ?? 0;
}

/**
 * Makes a filled database fit to be used, in one transaction, the last: from its end on it may be. `nothingLost`: it stands where its original
 * stood when that was last used, so that cursors and positions mean what they meant.
 */
export async function settleFilled(
  client: pg.ClientBase,
  { nothingLost }: { readonly nothingLost: boolean },
): Promise<void> {
  await client.query("reset synchronous_commit");
  await withTransaction(client, async () => {
    await sealLanes(client);
    if (!nothingLost) await voidWhatWasTold(client, "restore", "The database was restored from a backup");
    // Nodes ask by its number whether anything has changed.
    await client.query("update bellhop.auth_epoch set epoch = epoch + 1");
    await clearUnfinished(client);
  });
}
