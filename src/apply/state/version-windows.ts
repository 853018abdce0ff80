import type pg from "pg";
import {
  ensureWindows,
  isWindowed,
  readWindows,
  type WindowedTable,
} from "../../platform/db/time-windows.ts";
import { STATE_SCHEMA } from "./state-schema.ts";
import { VERSION_TABLES } from "./version-tables.ts";

/** As a session of ours writes a timestamptz: `2026-01-31 12:00:00+00`. */
function timeOf(bound: string): number {
  const ms = Date.parse(bound.replace(" ", "T").replace(/\+00$/, "Z"));
  if (Number.isNaN(ms)) throw new Error(`Not a time: ${bound}`);
  return ms;
}

function bySourceTime(schema: string, table: string): WindowedTable {
  return { schema, table, column: "source_time", boundOf: (ms) => new Date(ms).toISOString(), timeOf };
}

/** The tables of versions in a state schema, in windows of their source times where they have any. */
function versionWindowsOf(schema: string): readonly WindowedTable[] {
  return Object.values(VERSION_TABLES).map(({ table }) => bySourceTime(schema, table));
}

/** Those of the live state. */
export const VERSION_WINDOWS = versionWindowsOf(STATE_SCHEMA);

/** Until when every source time has a window in a table; -Infinity where there is none. */
async function endOf(client: pg.ClientBase, of: WindowedTable): Promise<number> {
  if (!(await isWindowed(client, of))) return Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of await readWindows(client, of)) {
    if (fromMs > endMs) break;
    endMs = toMs;
  }
  return endMs;
}

/** Source times are at most ten minutes ahead of their receipt, but for those that an operator released. */
const AHEAD_MS = 11 * 60_000;
/** After a long time without windows being made ahead a few long ones do. */
const WINDOWS_AT_ONCE = 50;

/** Sees to it that there is a window for what is about to be written. */
export class VersionCover {
  readonly #pool: pg.Pool;
  readonly #tables: readonly WindowedTable[];
  readonly #readWindowMs: (client: pg.ClientBase) => Promise<number>;
  #endMs = Number.NEGATIVE_INFINITY;

  /** `readWindowMs` says how long a window is that is made. */
  constructor(pool: pg.Pool, schema: string, readWindowMs: (client: pg.ClientBase) => Promise<number>) {
    this.#pool = pool;
    this.#tables = versionWindowsOf(schema);
    this.#readWindowMs = readWindowMs;
  }

  /** For all source times up to the latest (ISO 8601). On a connection of its own: what it makes is there at once. */
  async reach(latest: string): Promise<void> {
    if (latest === "" || Date.parse(latest) < this.#endMs) return;
    const client = await this.#pool.connect();
    try {
      this.#endMs = await coverUntil(
        client,
        this.#tables,
        Date.parse(latest),
        await this.#readWindowMs(client),
      );
    } finally {
      client.release();
    }
  }

  /** The windows may be others now. */
  forget(): void {
    this.#endMs = Number.NEGATIVE_INFINITY;
  }
}

/** Makes what windows are missing up to a time, and answers until when there is one for every source time. */
async function coverUntil(
  client: pg.ClientBase,
  tables: readonly WindowedTable[],
  latestMs: number,
  windowMs: number,
): Promise<number> {
  const targetMs = Math.min(latestMs, Date.now() + AHEAD_MS);
  let coveredMs = Number.POSITIVE_INFINITY;
  for (const of of tables) {
    let endMs = await endOf(client, of);
    const lengthMs = windowMs * Math.max(1, Math.ceil((targetMs - endMs) / windowMs / WINDOWS_AT_ONCE));
    while (endMs <= targetMs) {
      await ensureWindows(client, [of], { atMs: endMs, windowMs: lengthMs, ahead: 0 });
      endMs = await endOf(client, of);
    }
    // So far ahead that nothing comes between.
    if (endMs <= latestMs) await ensureWindows(client, [of], { atMs: latestMs, windowMs, ahead: 0 });
    coveredMs = Math.min(coveredMs, endMs);
  }
  return coveredMs;
}
