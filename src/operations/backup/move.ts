import type pg from "pg";
import type { ShowStep } from "../../cli/progress.ts";
import { withSession } from "../../platform/db/connection.ts";
import { countPresent } from "../../platform/db/coordination.ts";
import {
  clearUnfinished,
  markUnfinished,
  migrate,
  readMigrations,
  readUnfinished,
} from "../../platform/db/migrate.ts";
import type { Logger } from "../../platform/telemetry/log.ts";
import { BackupError } from "./backup-error.ts";
import type { TableDescription } from "./describe-tables.ts";
import {
  analyzeTables,
  copyTableOut,
  fillTable,
  moveIdentities,
  prepareTables,
  sumTable,
} from "./fill-tables.ts";
import { claimDatabase, FILLING_NOTE } from "./restore.ts";
import { settleFilled } from "./settle-filled.ts";
import { tablesOf } from "./table-class.ts";
import { withSnapshot } from "./write-backup.ts";

const UNDO = "drop schema bellhop_unfinished cascade";
const MOVING_NOTE = `A bellhop move of this database was cut off or is under way: run it again, or, to go on here, ${UNDO}.`;

export interface MoveOptions {
  /** The database that is left, opened as it is found. */
  readonly from: pg.ClientConfig;
  /** The empty one that is filled. */
  readonly to: pg.ClientConfig;
  /** For the note that is left behind; no password stands in it. */
  readonly toName: string;
  /** Leave the first one as it is: it stays in use. */
  readonly rehearsal: boolean;
  readonly log: Logger;
  readonly onStep?: ShowStep;
}

export interface MoveReport {
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
}

/** Nobody starts a service on it from here on, and nobody may have: a batch that it took now would be left behind. */
async function closeSource(client: pg.Client, { from, log }: MoveOptions): Promise<void> {
  const unfinished = await readUnfinished(client);
  if (unfinished === undefined) {
    await migrate(from, log);
    await markUnfinished(client, { note: MOVING_NOTE, isDisposable: false });
  } else if (unfinished.note !== MOVING_NOTE) throw new BackupError(unfinished.note);
  if ((await countPresent(client)).size === 0) return;
  await clearUnfinished(client);
  throw new BackupError("The service is running on this database: stop every node, then move it.");
}

async function compareTable(
  source: pg.Client,
  target: pg.Client,
  description: TableDescription,
): Promise<void> {
  const [there, here] = await Promise.all([sumTable(source, description), sumTable(target, description)]);
  if (there.count !== here.count || there.hash !== here.hash)
    throw new BackupError(`The rows of ${description.table} are others in the new database.`);
}

async function copyAll(target: pg.Client, options: MoveOptions): Promise<MoveReport> {
  const { from, to, log, onStep } = options;
  await claimDatabase(target, FILLING_NOTE);
  await migrate(to, log, { filling: new Set((await readMigrations()).map(({ name }) => name)) });
  return withSnapshot(from, tablesOf("kept", "state", "moved"), async ({ client: source, tables }) => {
    await prepareTables(target, tables);
    const moved: { table: string; rows: number }[] = [];
    for (const [at, description] of tables.entries()) {
      onStep?.(`copying ${description.table}, table ${at + 1} of ${tables.length}`);
      const { parts } = await copyTableOut(source, description);
      const rows = await fillTable(target, description, parts);
      moved.push({ table: description.table, rows });
    }
    await moveIdentities(target, tables);
    await analyzeTables(target, tables);
    for (const [at, description] of tables.entries()) {
      onStep?.(`comparing ${description.table}, table ${at + 1} of ${tables.length}`);
      await compareTable(source, target, description);
    }
    return { tables: moved };
  });
}

/**
 * Copies everything from one database to another, empty one, the state and its change numbers too, and compares the two table by table by
 * count and digest. No service may run on either. The former says afterwards that it was moved, so that nobody starts a service on it by
 * mistake; a move that is cut off leaves it as it was but for that, and is run again. Throws BackupError.
 */
export async function move(options: MoveOptions): Promise<MoveReport> {
  const { from, to, toName, rehearsal } = options;
  return withSession(from, "move", async (source) => {
    await closeSource(source, options);
    try {
      const report = await withSession(to, "move", async (target) => {
        const copied = await copyAll(target, options);
        await settleFilled(target, { nothingLost: true });
        return copied;
      });
      await clearUnfinished(source);
      const note = `This database was moved to ${toName}: use that one. To go on here all the same, ${UNDO}.`;
      if (!rehearsal) await markUnfinished(source, { note, isDisposable: false });
      return report;
    } catch (error) {
      await clearUnfinished(source);
      throw error;
    }
  });
}
