import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { announceGate, closeGate } from "../platform/db/coordination.ts";
import { sqlState } from "../platform/db/database-errors.ts";
import { placeByBucket, placementOf, reachAllBuckets } from "../platform/db/dialect.ts";
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
 * While a lock request waits, all later ones queue behind it: appliers at the gate, writers and readers at a table. So it times
 * out soon and is retried, to delay others by less than 100 ms.
 */
const WAIT_MS_MAX = 30;
/** After each this many tries the timeout grows by WAIT_MS_MAX, so that a slow machine succeeds in the end. */
const PATIENT_AFTER = 50;
const TRIES_MAX = 1_000;
/** Between tries: about as long as a shortened apply transaction takes on a busy machine. */
const PAUSE_MS = 50;
/** Tries during which appliers keep transactions short; then they run unrestricted for RESPITE_MS. */
const TRIES_ANNOUNCED = 20;
const RESPITE_MS = 500;
/** The timeout of locks that delay nobody: until large apply transactions end, or PostgreSQL cancels a vacuum (after a second). */
const UNFELT_MS_MAX = 3_000;

/** For how long others were held up, in milliseconds, and how often it was tried. */
interface HeldUp {
  readonly tries: number;
  /** From when appliers were held up until they were let go on. */
  readonly gateMs: number;
  /** The part of it that went by until the running ones had ended. */
  readonly waitMs: number;
}

/**
 * Runs `work`, which locks `table`, in a transaction while no applier runs: it keeps vacuum off the table, runs `before`, asks
 * appliers to keep transactions short, and holds them at the gate. If a lock then times out, it rolls back, releases them and
 * retries later, 1,000 times at most. Returns undefined, without `work`, if `before` answers false.
 */
export async function atGate(
  client: pg.ClientBase,
  table: string,
  work: () => Promise<unknown>,
  before?: () => Promise<boolean>,
): Promise<HeldUp | undefined> {
  let tries = 0;
  for (;;) {
    try {
      // Nobody is to wait for the disk at the gate. What a crash may undo is whole before and after; and what is done next, the dropping
      // of the former table, is on disk only after this.
      await client.query("begin; set local synchronous_commit = off");
      await reachAllBuckets(client);
      await client.query(`set local lock_timeout = ${UNFELT_MS_MAX}`);
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

/** Undefined where somebody was in the way for too long, who by then is waited for no more. */
async function tryOnce(
  client: pg.ClientBase,
  tries: number,
  work: () => Promise<unknown>,
): Promise<HeldUp | undefined> {
  const waitMsMax = WAIT_MS_MAX * Math.ceil(tries / PATIENT_AFTER);
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

/** The two sessions of a run: only the second one delays others. */
export interface RetentionSessions {
  /** Reads and copies. */
  readonly copying: pg.ClientBase;
  /** Puts tables in the place of others. */
  readonly replacing: pg.ClientBase;
  /** What copies may take of the disk. */
  roomBytes?(): Promise<number>;
}

/** There is too little free space on the disk for the copy of a window; the message says of which. */
export class NoRoom extends OperatorError {}

/** Throws NoRoom where the disk would be, or is, too full for others to write there. */
export async function checkRoom(
  { roomBytes }: RetentionSessions,
  { name }: TimeWindow,
  bytes = 0,
): Promise<void> {
  const room = (await roomBytes?.()) ?? Number.POSITIVE_INFINITY;
  if (room >= bytes) return;
  throw new NoRoom(
    `The disk has no room for what is kept of ${name}: ${sizeText(Math.max(0, room))} are free beyond half of MIN_FREE_DISK_MIB.`,
  );
}

/** Throws NoRoom where one statement would write too much; that is counted only where even the whole window would be too much. */
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
  // What keeps nothing frees the disk, however full that is.
  if (bytes > 0) await checkRoom(sessions, window, bytes);
}

interface Replaced extends HeldUp {
  /** How long writers were blocked, in milliseconds, without the commit. */
  readonly lockMs: number;
}

/** The result of expiring a window. */
export interface Expired {
  readonly table: string;
  readonly window: string;
  /** Rows before (of versions as PostgreSQL estimates them) and after: parts of the log, outcomes, or versions. */
  readonly rows: number;
  readonly keptRows: number;
  /** Null: it was left as it is, as nothing was to be taken out or something came into it meanwhile. */
  readonly replaced: Replaced | null;
}

/** A successor that has been filled: how many rows there were, how many it keeps, and what is to be done as it is put in place. */
interface Filled {
  readonly rows: number;
  readonly keptRows: number;
  /** Without rows the window goes and nothing takes its place. */
  readonly mayVanish: boolean;
  /** Asked before anybody is held up. False ends it: what was copied is no longer all that there is. */
  readonly isComplete?: (replacing: pg.ClientBase) => Promise<boolean>;
  /** Done while appliers are held up, and nobody writes to the window: short. */
  readonly complete?: (replacing: pg.ClientBase) => Promise<void>;
}

/**
 * Replaces a window by a successor that `fill` has filled, or by nothing, in one transaction, and drops the former one after that.
 * Where it fails, nothing of the successor stays, now or after the next run (`dropStrays`). Throws as `atGate`, and NoRoom.
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
    if (successor !== undefined) await constrain(copying, of, window, successor);
    let lockMs = 0;
    mayBeInPlace = true;
    const heldUp = await atGate(
      replacing,
      `${schema}.${window.name}`,
      async () => {
        await complete?.(replacing);
        const askedAt = performance.now();
        // Its windows need no lock: every session reaches them through the table.
        await replacing.query(`lock table only ${schema}.${table} in access exclusive mode`);
        if ((await placementOf(replacing)) !== placement)
          throw new Error(`Buckets were moved while ${window.name} was copied: the next run does it again.`);
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
    // A commit that was not answered may have attached it, with all that is kept of the window.
    if (!mayBeInPlace) await copying.query(`drop table ${schema}.${filled}`).catch(() => undefined);
    throw error;
  }
}

/** True while a window still has so many rows; from then on nobody writes to it until the transaction ends. */
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

/** Makes the table that is to stand in a window's place: beside it, and sure to have only what belongs there. */
async function makeSuccessor(client: pg.ClientBase, of: WindowedTable, window: TimeWindow): Promise<string> {
  const name = windowName(of.table, window.fromMs, `_${Date.now().toString(36)}`);
  await createWindowTable(client, of, name);
  await placeByBucket(client, [`${of.schema}.${name}`]);
  return name;
}

/** With such a constraint PostgreSQL need not read the table when it is attached. */
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
