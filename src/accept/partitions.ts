import type pg from "pg";
import { lowestIdAt } from "./request-id.ts";

/** A log partition holds seven days: few enough partitions for lookups by id, small enough to drop one at a time. */
const WINDOW_MS = 7 * 86_400_000;
const WINDOWS_AHEAD = 2;
/** Advisory lock class of partition creation (any fixed number of our own). */
const PARTITION_LOCK = 7_302_001;

interface Window {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

function windowAt(ms: number): Window {
  // Windows begin on Mondays: 1970-01-05 was one.
  const offsetMs = 4 * 86_400_000;
  const start = Math.floor((ms - offsetMs) / WINDOW_MS) * WINDOW_MS + offsetMs;
  const day = new Date(start).toISOString().slice(0, 10).replaceAll("-", "");
  return { name: `accept_log_${day}`, from: lowestIdAt(start), to: lowestIdAt(start + WINDOW_MS) };
}

/**
 * Makes the log's partitions for the given time and two windows ahead. Each is created beside the log and then attached,
 * which needs only a weak lock on the log (`partition of` would block every accept); with `lock_timeout`, tried again by
 * the caller. Safe when several nodes do it at once.
 */
export async function ensurePartitions(client: pg.ClientBase, atMs: number): Promise<void> {
  for (let ahead = 0; ahead <= WINDOWS_AHEAD; ahead += 1) {
    const { name, from, to } = windowAt(atMs + ahead * WINDOW_MS);
    const exists = await client.query("select to_regclass($1) is not null as found", [`bellhop.${name}`]);
    if (exists.rows[0]?.found === true) continue;
    await client.query("begin");
    try {
      await client.query("set local lock_timeout = '5s'");
      await client.query("select pg_advisory_xact_lock($1)", [PARTITION_LOCK]);
      // From the table itself: this session may have cached that there is no such name, and a wait for an advisory lock
      // does not refresh that.
      const made = await client.query(
        "select from pg_class where relname = $1 and relnamespace = 'bellhop'::regnamespace",
        [name],
      );
      if (made.rowCount === 0) {
        // Identifiers are made here of digits only, never of input.
        await client.query(`create table bellhop.${name} (like bellhop.accept_log including all)`);
        await client.query(
          `alter table bellhop.accept_log attach partition bellhop.${name} for values from ('${from}') to ('${to}')`,
        );
      }
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    }
  }
}
