import { REQUEST_OUTCOME } from "../../accept/partitions.ts";
import type { Expired } from "./expire-log.ts";
import { type ExpiringWindow, writeMark, writtenColumns } from "./expiring-window.ts";
import { makeSuccessor, type RetentionSessions, replaceWindow } from "./replace-window.ts";

/**
 * Takes out of a window of outcomes those of parts that are no longer requests: after the windows of the log have been gone
 * through, which say so.
 */
export async function expireOutcomeWindow(
  sessions: RetentionSessions,
  { window, mark }: ExpiringWindow,
): Promise<Expired> {
  const client = sessions.copying;
  const columns = (await writtenColumns(client, REQUEST_OUTCOME)).join(", ");
  const successor = await makeSuccessor(client, REQUEST_OUTCOME, window);
  try {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::float8 as count from bellhop.${window.name}`,
    );
    const count = rows[0]?.count ?? 0;
    const { rowCount } = await client.query(
      `insert into bellhop.${successor} (${columns})
      select ${columns} from bellhop.${window.name} as outcome
      where exists (
        select from bellhop.accept_log as log
        where log.bucket = outcome.bucket and log.request_id = outcome.request_id and log.kind <> 'c'
      )`,
    );
    const kept = rowCount ?? 0;
    await writeMark(client, REQUEST_OUTCOME, successor, mark);
    const replaced = await replaceWindow(sessions, REQUEST_OUTCOME, window, {
      successor: kept === 0 ? undefined : successor,
      isComplete: async (replacing) => {
        await replacing.query(`lock table bellhop.${window.name} in share mode`);
        const now = await replacing.query<{ count: number }>(
          `select count(*)::float8 as count from bellhop.${window.name}`,
        );
        return now.rows[0]?.count === count;
      },
    });
    if (kept === 0 && replaced !== undefined) await client.query(`drop table bellhop.${successor}`);
    return {
      table: REQUEST_OUTCOME.table,
      window: window.name,
      rows: count,
      keptRows: kept,
      replaced: replaced ?? null,
    };
  } catch (error) {
    await client.query(`drop table if exists bellhop.${successor}`).catch(() => undefined);
    throw error;
  }
}
