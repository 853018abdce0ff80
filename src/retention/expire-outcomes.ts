import { REQUEST_OUTCOME } from "../ingest/log/partitions.ts";
import { type ExpiringWindow, writtenColumns } from "./expiring-window.ts";
import {
  checkRoomFor,
  countRows,
  type Expired,
  expireWindow,
  lockUnchanged,
  type RetentionSessions,
} from "./replace-window.ts";

/** Removes outcomes from a window whose parts are no longer requests. Runs after the log's windows, which mark such parts. */
export async function expireOutcomeWindow(
  sessions: RetentionSessions,
  expiring: ExpiringWindow,
): Promise<Expired> {
  const client = sessions.copying;
  const { window } = expiring;
  const columns = (await writtenColumns(client, REQUEST_OUTCOME)).join(", ");
  return expireWindow(sessions, REQUEST_OUTCOME, expiring, async (successor) => {
    const rows = await countRows(client, `bellhop.${window.name}`);
    const kept = `bellhop.${window.name} as outcome
      where exists (
        select from bellhop.accept_log as log
        where log.bucket = outcome.bucket and log.request_id = outcome.request_id and log.kind <> 'c'
      )`;
    const countKept = () => countRows(client, kept);
    await checkRoomFor(
      sessions,
      REQUEST_OUTCOME,
      window,
      async (bytes) => bytes * ((await countKept()) / rows),
    );
    const { rowCount } = await client.query(
      `insert into bellhop.${successor} (${columns}) select ${columns} from ${kept}`,
    );
    return {
      rows,
      keptRows: rowCount ?? 0,
      mayVanish: true,
      isComplete: (replacing) => lockUnchanged(replacing, REQUEST_OUTCOME, window, rows),
    };
  });
}
