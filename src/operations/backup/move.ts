import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { ShowStep } from "../../cli/progress.ts";
import { withSession } from "../../platform/db/connection.ts";
import { countPresent } from "../../platform/db/coordination.ts";
import { canCloseLog, keysAsPlaced } from "../../platform/db/dialect.ts";
import { DISTRIBUTED_TABLES, distributeByBucket } from "../../platform/db/distribute.ts";
import {
  clearUnfinished,
  markUnfinished,
  migrate,
  readMigrations,
  readUnfinished,
  renoteUnfinished,
} from "../../platform/db/migrate.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import type { Logger } from "../../platform/telemetry/log.ts";
import { describeTables, type TableDescription } from "./describe-tables.ts";
import {
  analyzeTables,
  copyTableOut,
  fillTable,
  moveIdentities,
  prepareTables,
  sumTable,
} from "./fill-tables.ts";
import { claimDatabase, FILLING_NOTE, lockFilling } from "./restore.ts";
import { raiseClosedTimestamp, settleFilled } from "./settle-filled.ts";
import { tablesOf } from "./table-class.ts";
import { withSnapshot } from "./write-backup.ts";

const UNDO = "drop schema bellhop_unfinished cascade";
const MOVING_NOTE = `A bellhop move of this database is running or was interrupted: run it again, or, to keep using this database, ${UNDO}.`;
const leavingNote = ({ toName }: Pick<MoveOptions, "toName">) =>
  `A bellhop move of this database is running or was interrupted, and ${toName} already accepts batches: run the same command again.`;
const movedNote = ({ toName }: Pick<MoveOptions, "toName">) =>
  `This database was moved to ${toName}: use that one. To keep using this database nevertheless, ${UNDO}.`;
const REHEARSAL_NOTE =
  "This database is a copy made by bellhop move --rehearsal: drop it, or run bellhop move, which replaces it.";
const ACCEPTING_NOTE =
  "A bellhop move that fills this database is running or was interrupted: until it ends, only nodes with ROLE=accept start here.";

const RUNNING = "The service is running on this database: stop every node, then move it.";

const MOVED_TABLES = tablesOf("kept", "state", "moved");
const LOG = "bellhop.accept_log";
const KEYS = "bellhop.idempotency_key";
/** Tables distributed by bucket, which accepting nodes do not need, except for the idempotency keys. */
const COPIED_LAST: ReadonlySet<string> = new Set(DISTRIBUTED_TABLES.filter((table) => table !== KEYS));

const POLL_MS = 200;

export interface MoveOptions {
  /** The source database. */
  readonly from: pg.ClientConfig;
  /** The empty target database. */
  readonly to: pg.ClientConfig;
  /** For the note left in the source; contains no password. */
  readonly toName: string;
  /** Leaves the source in use. */
  readonly rehearsal: boolean;
  /** Distributes the target's tables by bucket over this many shards; by default they stay on one server. */
  readonly shards?: number | undefined;
  /**
   * Nodes may run on the source until `say` asks to stop them. Accept-only nodes may start on the target when it says so, before everything
   * is copied; the move cannot be reversed then.
   */
  readonly acceptEarly?: boolean;
  /** Called with a line that asks the operator to act. */
  readonly say?: (line: string) => void;
  readonly log: Logger;
  readonly onStep?: ShowStep;
}

export interface MoveReport {
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
}

const isRunning = async (source: pg.Client) => (await countPresent(source)).size > 0;

/** Prevents further starts on the source and requires that no node runs: a batch accepted now would not be moved. */
async function closeSource(source: pg.Client, { acceptEarly, say, onStep }: MoveOptions): Promise<void> {
  await markUnfinished(source, { note: MOVING_NOTE });
  if (acceptEarly === true && (await isRunning(source))) {
    say?.("The new database is ready to be filled: stop every node of the service now.");
    onStep?.("waiting until every node of the service has stopped");
    while (await isRunning(source)) await delay(POLL_MS);
  }
  if (await isRunning(source)) throw new OperatorError(RUNNING);
  await markUnfinished(source, { note: MOVING_NOTE, closesLog: await canCloseLog(source) });
}

interface Ends {
  readonly source: pg.Client;
  readonly target: pg.Client;
  readonly options: MoveOptions;
  /** The highest log writer id of the source. */
  readonly lastLogWriter: string;
}

/** The part of a table to read from the source. */
async function readThere(
  { source, options }: Ends,
  description: TableDescription,
): Promise<TableDescription> {
  if (description.table !== KEYS) return description;
  return { ...description, table: await keysAsPlaced(source, options.shards !== undefined) };
}

/** The part of a target table that came from the source. */
function readHere({ lastLogWriter }: Ends, description: TableDescription): TableDescription {
  if (description.table !== LOG) return description;
  return { ...description, table: `(select * from ${LOG} where log_writer_id <= ${lastLogWriter}) as log` };
}

async function compareTable(ends: Ends, description: TableDescription): Promise<void> {
  const [there, here] = await Promise.all([
    sumTable(ends.source, await readThere(ends, description)),
    sumTable(ends.target, readHere(ends, description)),
  ]);
  if (there.count !== here.count || there.hash !== here.hash)
    throw new OperatorError(`The rows of ${description.table} differ in the new database.`);
}

async function copyTables(ends: Ends, tables: readonly TableDescription[]): Promise<MoveReport["tables"]> {
  const { source, target, options } = ends;
  const moved: { table: string; rows: number }[] = [];
  for (const [at, description] of tables.entries()) {
    options.onStep?.(`copying ${description.table}, table ${at + 1} of ${tables.length}`);
    const { parts } = await copyTableOut(source, await readThere(ends, description));
    moved.push({ table: description.table, rows: await fillTable(target, description, parts) });
  }
  await moveIdentities(target, tables);
  await analyzeTables(target, tables);
  for (const [at, description] of tables.entries()) {
    options.onStep?.(`comparing ${description.table}, table ${at + 1} of ${tables.length}`);
    await compareTable(ends, description);
  }
  return moved;
}

/** Creates the target's tables, empty, with the source's time windows; returns the tables to copy. */
async function prepareTarget(
  { source, target }: Pick<Ends, "source" | "target">,
  { to, log, shards, onStep }: MoveOptions,
): Promise<readonly TableDescription[]> {
  onStep?.("creating the tables");
  await migrate(to, log, { filling: new Set((await readMigrations()).map(({ name }) => name)) });
  const described = await describeTables(source, MOVED_TABLES);
  await prepareTables(target, described);
  if (shards !== undefined) await distributeByBucket(target, { shards, dryRun: false, log });
  return described;
}

/** Copies the tables distributed by bucket, again if interrupted. Keeps what nodes have accepted meanwhile. */
async function copyDistributed(
  ends: Ends,
  tables: readonly TableDescription[],
): Promise<MoveReport["tables"]> {
  const { target, lastLogWriter } = ends;
  const following = tables.filter(({ table }) => COPIED_LAST.has(table));
  const emptied = following.map(({ table }) => table).filter((table) => table !== LOG);
  await target.query(`truncate ${emptied.join(", ")}`);
  await target.query(`delete from ${LOG} where log_writer_id <= $1`, [lastLogWriter]);
  return copyTables(ends, following);
}

/** The end of the source's log. Batches accepted in the target get higher ids, whatever its clock. */
async function readLogEnd(source: pg.Client): Promise<{ lastLogWriter: string; lastRequest: string | null }> {
  const { rows } = await source.query<{ lastLogWriter: string; lastRequest: string | null }>(
    `select (select coalesce(max(log_writer_id), 0) from bellhop.log_writer) as "lastLogWriter",
      (select request_id from bellhop.accept_log order by request_id desc limit 1) as "lastRequest"`,
  );
  return rows[0] ?? { lastLogWriter: "0", lastRequest: null };
}

const ACCEPTING =
  "Batches can be accepted: start nodes with ROLE=accept on the new database. They are applied once everything is copied.";

/** Opens the target for accepting and permanently closes the source, also if the move is interrupted afterwards. */
async function openForAccepting({ source, target, options, lastLogWriter }: Ends): Promise<void> {
  await renoteUnfinished(source, leavingNote(options));
  await markUnfinished(target, { note: ACCEPTING_NOTE, acceptsAfter: lastLogWriter });
  options.say?.(ACCEPTING);
}

async function copyAll(source: pg.Client, target: pg.Client, options: MoveOptions): Promise<MoveReport> {
  return withSnapshot(options.from, MOVED_TABLES, async ({ client, tables }) => {
    const { lastLogWriter, lastRequest } = await readLogEnd(client);
    const ends = { source: client, target, options, lastLogWriter };
    const first = await copyTables(
      ends,
      tables.filter(({ table }) => !COPIED_LAST.has(table)),
    );
    await settleFilled(target, { nothingLost: true });
    if (lastRequest !== null) await raiseClosedTimestamp(target, lastRequest);
    if (options.acceptEarly === true) await openForAccepting({ ...ends, source });
    return { tables: [...first, ...(await copyDistributed(ends, tables))] };
  });
}

/** Resumes a move that was interrupted after nodes could accept. */
async function resumeMove(
  target: pg.Client,
  lastLogWriter: string,
  options: MoveOptions,
): Promise<MoveReport> {
  options.say?.(ACCEPTING);
  return withSnapshot(options.from, MOVED_TABLES, async ({ client, tables }) => ({
    tables: await copyDistributed({ source: client, target, options, lastLogWriter }, tables),
  }));
}

async function copyFromStart(
  source: pg.Client,
  target: pg.Client,
  options: MoveOptions,
): Promise<MoveReport> {
  const { from, acceptEarly, log } = options;
  if (acceptEarly === true && !(await canCloseLog(source)))
    throw new OperatorError(
      "The tables of the previous database are distributed: stop the service, and move without --accept-early.",
    );
  if (acceptEarly !== true && (await isRunning(source))) throw new OperatorError(RUNNING);
  await claimDatabase(target, FILLING_NOTE);
  // A source that is closed has the schema already and must not be written to.
  const note = (await readUnfinished(source))?.note;
  if (note === MOVING_NOTE) await clearUnfinished(source);
  if (note !== leavingNote(options)) await migrate(from, log);
  const prepared = await prepareTarget({ source, target }, options);
  await closeSource(source, options);
  // A running service may have opened time windows, and retention may have replaced some.
  if (JSON.stringify(await describeTables(source, MOVED_TABLES)) !== JSON.stringify(prepared)) {
    await claimDatabase(target, FILLING_NOTE);
    await prepareTarget({ source, target }, options);
  }
  return copyAll(source, target, options);
}

/**
 * Copies everything to an empty database, including the state and change numbers, and compares each table by count and digest. No service
 * may run on either, except as `acceptEarly` allows. Afterwards the source is marked as moved, so that no service starts on it. An
 * interrupted move leaves only its mark and can be run again. Throws OperatorError.
 */
export async function move(options: MoveOptions): Promise<MoveReport> {
  return withSession(options.from, "move", (source) =>
    withSession(options.to, "move", async (target) => {
      // Lock the source too: another move of it would remove this one's note.
      await lockFilling(source);
      await lockFilling(target);
      try {
        return await moveLocked(source, target, options);
      } catch (error) {
        if ((await readUnfinished(source))?.note === MOVING_NOTE) await clearUnfinished(source);
        throw error;
      }
    }),
  );
}

async function moveLocked(source: pg.Client, target: pg.Client, options: MoveOptions): Promise<MoveReport> {
  const note = (await readUnfinished(source))?.note;
  const filled = await readUnfinished(target);
  // Everything has been compared; only the last mark is missing.
  if (note === movedNote(options) && filled !== undefined) {
    await clearUnfinished(target);
    return { tables: [] };
  }
  const isLeft = note === leavingNote(options);
  if (note !== undefined && note !== MOVING_NOTE && !isLeft) throw new OperatorError(note);
  const acceptsAfter = filled?.acceptsAfter ?? null;
  if (acceptsAfter !== null && (!isLeft || options.rehearsal))
    throw new OperatorError("The new database already accepts batches: run the command that began the move.");
  const report =
    acceptsAfter === null
      ? await copyFromStart(source, target, options)
      : await resumeMove(target, acceptsAfter, options);
  if (options.rehearsal) {
    await renoteUnfinished(target, REHEARSAL_NOTE);
    await clearUnfinished(source);
  } else {
    await renoteUnfinished(source, movedNote(options));
    await clearUnfinished(target);
  }
  return report;
}
