import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { announceGate, closeGate } from "../platform/db/coordination.ts";
import { sqlState } from "../platform/db/database-errors.ts";
import { placeByBucket, placementOf, reachAllBuckets } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";
import {
  attachWindow,
  createWindowTable,
  type TimeWindow,
  type WindowedTable,
  windowName,
} from "../platform/db/time-windows.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { sizeText } from "../platform/runtime/amounts.ts";
import { type ExpiringWindow, writeMark } from "./expiring-window.ts";

const LOCK_NOT_AVAILABLE = "55P03";
/**
 * Lock timeout. All later lock requests queue behind a waiting one (appliers at the gate, readers and writers of a table), so it times out
 * soon and is retried, to delay others by less than 100 ms.
 */
const WAIT_MS_MAX = 30;
/** After this many tries the timeout grows by WAIT_MS_MAX, so that a slow machine succeeds eventually. */
const TRIES_PER_TIMEOUT = 50;
const TRIES_MAX = 1_000;
/** Pause between tries: about the duration of a shortened apply transaction on a busy machine. */
const PAUSE_MS = 50;
/** Tries during which appliers keep transactions short; then they run unrestricted for RESPITE_MS. */
const TRIES_ANNOUNCED = 20;
const RESPITE_MS = 500;
/** Timeout of locks that block nobody: long enough for large apply transactions, or for PostgreSQL to cancel a vacuum (a second). */
const NONBLOCKING_LOCK_MS_MAX = 3_000;

/** How long others were blocked, in milliseconds, and the number of tries. */
interface BlockedTimes {
  readonly tries: number;
  /** How long appliers were blocked. */
  readonly gateMs: number;
  /** The part of it spent waiting for running transactions. */
  readonly waitMs: number;
}

/**
 * Runs `work`, which locks `table`, in a transaction while no applier runs. Keeps vacuum off the table, runs `before`, asks appliers to
 * keep transactions short, and blocks them at the gate. If a lock times out, rolls back and retries later, at most 1,000 times. Returns
 * undefined, without `work`, if `before` returns false.
 */
export async function atGate(
  client: pg.ClientBase,
  table: string,
  work: () => Promise<unknown>,
  before?: () => Promise<boolean>,
): Promise<BlockedTimes | undefined> {
  let tries = 0;
  for (;;) {
    try {
      // The commit at the gate does not wait for the disk. A crash may undo it, and leaves a consistent state either way; the former table
      // is dropped only once it is durable.
      await client.query("begin; set local synchronous_commit = off");
      await reachAllBuckets(client);
      await client.query(`set local lock_timeout = ${NONBLOCKING_LOCK_MS_MAX}`);
      await client.query(`lock table only ${table} in share update exclusive mode`);
      if (before !== undefined && !(await before())) {
        await client.query("rollback");
        return undefined;
      }
      await announceGate(client);
      for (let announced = 0; announced < TRIES_ANNOUNCED; announced += 1) {
        tries += 1;
        const heldUp = await tryOnce(client, tries, work);
        if (heldUp !== undefined) return heldUp;
        await delay(PAUSE_MS);
      }
      await client.query("rollback");
    } catch (error) {
      await client.query("rollback");
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries >= TRIES_MAX) throw error;
      tries += 1;
    }
    await delay(RESPITE_MS);
  }
}

/** Undefined if a lock timed out. */
async function tryOnce(
  client: pg.ClientBase,
  tries: number,
  work: () => Promise<unknown>,
): Promise<BlockedTimes | undefined> {
  const waitMsMax = WAIT_MS_MAX * Math.ceil(tries / TRIES_PER_TIMEOUT);
  await client.query("savepoint before_gate");
  await client.query(`set local lock_timeout = ${waitMsMax}`);
  const closedAt = performance.now();
  try {
    await closeGate(client);
    const waitMs = performance.now() - closedAt;
    await work();
    await client.query("commit");
    return { tries, gateMs: performance.now() - closedAt, waitMs };
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries >= TRIES_MAX) throw error;
    await client.query("rollback to savepoint before_gate");
    return undefined;
  }
}

/** Longer than any answer takes. */
const READERS_MS_MAX = 15_000;
const READERS_POLL_MS = 50;

const readNextTransaction = namedStatement(
  "read-next-transaction",
  "select pg_snapshot_xmax(pg_current_snapshot())::xid::text as next",
);
/** Whether a session of this role reads from a snapshot in which transactions before $1 may be in progress. */
const findEarlierReaders = namedStatement(
  "find-earlier-readers",
  `select exists (
    select from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
      and age(backend_xmin) > age($1::xid)
  ) as found`,
);

/**
 * Waits for answers that began before the copy was complete: in their snapshot the successor lacks rows, and they would find it in place of
 * the window. Blocks nobody; gives up after READERS_MS_MAX.
 */
async function untilReadersSee(copying: pg.ClientBase): Promise<void> {
  const { rows } = await copying.query<{ next: string }>(readNextTransaction);
  const until = performance.now() + READERS_MS_MAX;
  while (performance.now() < until) {
    const asked = { ...findEarlierReaders, values: [rows[0]?.next] };
    const earlier = await copying.query<{ found: boolean }>(asked);
    if (earlier.rows[0]?.found !== true) return;
    await delay(READERS_POLL_MS);
  }
}

/** The two sessions of a run; only the second one blocks others. */
export interface RetentionSessions {
  readonly copying: pg.ClientBase;
  /** Replaces tables. */
  readonly replacing: pg.ClientBase;
  /** Disk space available for copies. */
  roomBytes?(): Promise<number>;
}

/** Too little free disk space to copy a window; the message names it. */
export class NoRoom extends OperatorError {}

/** Throws NoRoom if the disk would become, or is, too full for other writers. */
export async function checkRoom(
  { roomBytes }: RetentionSessions,
  { name }: TimeWindow,
  bytes = 0,
): Promise<void> {
  const room = (await roomBytes?.()) ?? Number.POSITIVE_INFINITY;
  if (room >= bytes) return;
  throw new NoRoom(
    `The disk has no room for the remaining rows of ${name}: ${sizeText(Math.max(0, room))} are free beyond half of MIN_FREE_DISK_MIB.`,
  );
}

/** Throws NoRoom if one statement would write too much; counts that only if the whole window would be too much. */
export async function checkRoomFor(
  sessions: RetentionSessions,
  { schema }: WindowedTable,
  window: TimeWindow,
  count: (windowBytes: number) => Promise<number>,
): Promise<void> {
  if (sessions.roomBytes === undefined) return;
  const { rows } = await sessions.copying.query<{ bytes: number }>(
    "select pg_total_relation_size($1::regclass)::float8 as bytes",
    [`${schema}.${window.name}`],
  );
  const windowBytes = rows[0]?.bytes ?? 0;
  if ((await sessions.roomBytes()) >= windowBytes) return;
  const bytes = await count(windowBytes);
  // A window without kept rows frees space, so it needs no check.
  if (bytes > 0) await checkRoom(sessions, window, bytes);
}

interface Replaced extends BlockedTimes {
  /** How long writers were blocked before the commit, in milliseconds. */
  readonly lockMs: number;
}

/** The result of expiring a window. */
export interface Expired {
  readonly table: string;
  readonly window: string;
  /** Rows before and after: parts of the log, outcomes, or versions (before: estimated by PostgreSQL). */
  readonly rows: number;
  readonly keptRows: number;
  /** Null if the window was left unchanged: nothing had expired, or rows were added meanwhile. */
  readonly replaced: Replaced | null;
}

/** A filled successor: rows before, rows kept, and how to complete it. */
interface Filled {
  readonly rows: number;
  readonly keptRows: number;
  /** If no rows are kept, the window is dropped without a successor. */
  readonly mayVanish: boolean;
  /** Checked before anyone is blocked. False cancels: rows were added since the copy. */
  readonly isComplete?: (replacing: pg.ClientBase) => Promise<boolean>;
  /** Runs while appliers and writers of the window are blocked; must be short. */
  readonly complete?: (replacing: pg.ClientBase) => Promise<void>;
}

/**
 * Replaces a window with a successor filled by `fill`, or with nothing, in one transaction, and then drops the former one. If it fails, the
 * successor is dropped now or by the next run (`dropStrays`). Throws as `atGate`, and NoRoom.
 */
export async function expireWindow(
  sessions: RetentionSessions,
  of: WindowedTable,
  { window, mark }: ExpiringWindow,
  fill: (successor: string) => Promise<Filled>,
): Promise<Expired> {
  const { copying, replacing } = sessions;
  const { schema, table } = of;
  const placement = await placementOf(copying);
  const filled = await makeSuccessor(copying, of, window);
  let mayBeInPlace = false;
  try {
    const { rows, keptRows, mayVanish, isComplete, complete } = await fill(filled);
    await writeMark(copying, of, filled, mark);
    const successor = mayVanish && keptRows === 0 ? undefined : filled;
    if (successor !== undefined) {
      await constrain(copying, of, window, successor);
      await untilReadersSee(copying);
    }
    let lockMs = 0;
    mayBeInPlace = true;
    const heldUp = await atGate(
      replacing,
      `${schema}.${window.name}`,
      async () => {
        await complete?.(replacing);
        const askedAt = performance.now();
        // Windows need no lock of their own: every session reaches them through the parent table.
        await replacing.query(`lock table only ${schema}.${table} in access exclusive mode`);
        if ((await placementOf(replacing)) !== placement)
          throw new Error(`Buckets were moved while ${window.name} was copied: the next run repeats it.`);
        await swap(replacing, of, window, successor);
        lockMs = performance.now() - askedAt;
      },
      isComplete && (() => isComplete(replacing)),
    );
    if (heldUp !== undefined) await copying.query(`drop table ${schema}.${window.name}`);
    if (heldUp === undefined || successor === undefined)
      await copying.query(`drop table ${schema}.${filled}`);
    const replaced = heldUp === undefined ? null : { ...heldUp, lockMs };
    return { table, window: window.name, rows, keptRows, replaced };
  } catch (error) {
    // A commit without a response may have attached the successor: do not drop it.
    if (!mayBeInPlace) await copying.query(`drop table ${schema}.${filled}`).catch(() => undefined);
    throw error;
  }
}

/** True if a window still has this many rows; then it is locked against writes until the transaction ends. */
export async function lockUnchanged(
  client: pg.ClientBase,
  { schema }: WindowedTable,
  { name }: TimeWindow,
  rows: number,
): Promise<boolean> {
  await client.query(`lock table ${schema}.${name} in share mode`);
  return (await countRows(client, `${schema}.${name}`)) === rows;
}

export async function countRows(
  client: pg.ClientBase,
  from: string,
  values: unknown[] = [],
): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::float8 as count from ${from}`,
    values,
  );
  return rows[0]?.count ?? 0;
}

/** Creates the successor of a window beside it, with a constraint on its range. */
async function makeSuccessor(client: pg.ClientBase, of: WindowedTable, window: TimeWindow): Promise<string> {
  const name = windowName(of.table, window.fromMs, `_${Date.now().toString(36)}`);
  await createWindowTable(client, of, name);
  await placeByBucket(client, [`${of.schema}.${name}`]);
  return name;
}

/** With this constraint PostgreSQL does not scan the table when it is attached. */
async function constrain(
  client: pg.ClientBase,
  of: WindowedTable,
  window: TimeWindow,
  successor: string,
): Promise<void> {
  const column = of.column;
  const least = Number.isFinite(window.fromMs) ? ` and ${column} >= '${of.boundOf(window.fromMs)}'` : "";
  await client.query(
    `alter table ${of.schema}.${successor} add constraint ${successor}_window
      check (${column} is not null${least} and ${column} < '${of.boundOf(window.toMs)}')`,
  );
}

async function swap(
  client: pg.ClientBase,
  of: WindowedTable,
  window: TimeWindow,
  successor: string | undefined,
): Promise<void> {
  const { schema, table } = of;
  await client.query(`alter table ${schema}.${table} detach partition ${schema}.${window.name}`);
  if (successor === undefined) return;
  await attachWindow(client, of, { ...window, name: successor });
  await client.query(`alter table ${schema}.${successor} drop constraint ${successor}_window`);
}
