import type pg from "pg";
import { type Queryable, withTransaction } from "./transaction.ts";

/** A table that is partitioned by ranges of time, and how its key is made of a time (milliseconds since 1970) and back. */
export interface WindowedTable {
  readonly schema: string;
  readonly table: string;
  /** What it is partitioned by. */
  readonly column: string;
  /** The literal that a window's bound is written as, without quotes. */
  boundOf(ms: number): string;
  /** The time of a bound as PostgreSQL writes it, without quotes. */
  timeOf(bound: string): number;
  /** Storage parameters of a new window: a partitioned table can have none that its windows would take over. */
  readonly storage?: string;
}

/** One partition, from `fromMs` (inclusive) to `toMs`; -Infinity where it has everything before that. */
export interface TimeWindow {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Advisory lock that serialises the creation of windows. */
const WINDOW_LOCK = 7_302_001;
/** Windows begin on Mondays: 1970-01-05 was one. */
const FIRST_MONDAY_MS = 4 * 86_400_000;

const READ_PARTITIONS = `
  select partition.relname as name, pg_get_expr(partition.relpartbound, partition.oid) as bounds
  from pg_class as parent join pg_namespace as place on place.oid = parent.relnamespace
  join pg_inherits as child on child.inhparent = parent.oid
  join pg_class as partition on partition.oid = child.inhrelid
  where place.nspname = $1 and parent.relname = $2`;

const BOUNDS = /^FOR VALUES FROM \((?:'([^']*)'|MINVALUE)\) TO \('([^']*)'\)$/;

/** Whether a table has windows: those of the state and outcomes get theirs when a term is first set (src/retention). */
export async function isWindowed(client: Queryable, { schema, table }: WindowedTable): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_class as parent join pg_namespace as place on place.oid = parent.relnamespace
    where place.nspname = $1 and parent.relname = $2 and parent.relkind = 'p'`,
    [schema, table],
  );
  return rowCount === 1;
}

/** The windows that a table has, the oldest first. */
export async function readWindows(client: Queryable, of: WindowedTable): Promise<TimeWindow[]> {
  const { rows } = await client.query<{ name: string; bounds: string }>(READ_PARTITIONS, [
    of.schema,
    of.table,
  ]);
  return rows
    .map(({ name, bounds }) => {
      const [, from, to] = BOUNDS.exec(bounds) ?? [];
      if (to === undefined) throw new Error(`The partition ${name} has unexpected bounds: ${bounds}`);
      return {
        name,
        fromMs: from === undefined ? Number.NEGATIVE_INFINITY : of.timeOf(from),
        toMs: of.timeOf(to),
      };
    })
    .sort((left, right) => left.toMs - right.toMs);
}

/**
 * The window that a time would get: from one multiple of `windowMs` to the next, but never over the ones that there are, so
 * that windows of different lengths may follow each other. Undefined where there is one already.
 */
export function missingWindow(
  windows: readonly Pick<TimeWindow, "fromMs" | "toMs">[],
  atMs: number,
  windowMs: number,
): { readonly fromMs: number; readonly toMs: number } | undefined {
  if (windows.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs)) return undefined;
  const offsetMs = FIRST_MONDAY_MS % windowMs;
  let fromMs = Math.floor((atMs - offsetMs) / windowMs) * windowMs + offsetMs;
  let toMs = fromMs + windowMs;
  for (const window of windows) {
    if (window.toMs <= atMs) fromMs = Math.max(fromMs, window.toMs);
    else toMs = Math.min(toMs, window.fromMs);
  }
  return { fromMs, toMs };
}

/** A name that says when the window begins; `suffix` where another stands in its place already. */
export function windowName(table: string, fromMs: number, suffix = ""): string {
  if (!Number.isFinite(fromMs)) return `${table}_before${suffix}`;
  const digits = new Date(fromMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
  const day = digits.replace(/T000000$/, "");
  return `${table}_${day.replace("T", "_")}${suffix}`;
}

/** `for values …` of a window. Its literals are made here of numbers, never of input. */
function boundsClause(of: WindowedTable, { fromMs, toMs }: Omit<TimeWindow, "name">): string {
  const from = Number.isFinite(fromMs) ? `'${of.boundOf(fromMs)}'` : "minvalue";
  return `for values from (${from}) to ('${of.boundOf(toMs)}')`;
}

/**
 * Makes the windows of some tables for a time and for `ahead` windows after it. Each is created beside its table and then attached,
 * which needs only a weak lock on the table (`partition of` would block every writer); with `lock_timeout`, tried again by
 * the caller. A table that has none is left alone. Safe when several nodes do it at once.
 */
export async function ensureWindows(
  client: pg.ClientBase,
  tables: readonly WindowedTable[],
  { atMs, windowMs, ahead }: { readonly atMs: number; readonly windowMs: number; readonly ahead: number },
): Promise<void> {
  for (const table of tables) {
    if (!(await isWindowed(client, table))) continue;
    const windows = await readWindows(client, table);
    for (let step = 0; step <= ahead; step += 1) {
      const wantedMs = atMs + step * windowMs;
      if (missingWindow(windows, wantedMs, windowMs) === undefined) continue;
      windows.push(await makeWindow(client, table, wantedMs, windowMs));
    }
  }
}

function makeWindow(
  client: pg.ClientBase,
  of: WindowedTable,
  atMs: number,
  windowMs: number,
): Promise<TimeWindow> {
  return withTransaction(client, async () => {
    await client.query("set local lock_timeout = '5s'");
    await client.query("select pg_advisory_xact_lock($1)", [WINDOW_LOCK]);
    // Read anew: another may have made it meanwhile.
    const windows = await readWindows(client, of);
    const missing = missingWindow(windows, atMs, windowMs);
    if (missing !== undefined) return await attachNew(client, of, missing, windows);
    return windows.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs) as TimeWindow;
  });
}

async function attachNew(
  client: pg.ClientBase,
  of: WindowedTable,
  missing: Omit<TimeWindow, "name">,
  windows: readonly TimeWindow[],
): Promise<TimeWindow> {
  const plain = windowName(of.table, missing.fromMs);
  // A window may have been made anew, and its former name freed or not.
  const name = windows.some((one) => one.name === plain) ? `${plain}_${windows.length}` : plain;
  await createWindowTable(client, of, name);
  const window = { ...missing, name };
  await attachWindow(client, of, window);
  return window;
}

/** Makes an empty table that is to become a window. */
export async function createWindowTable(
  client: pg.ClientBase,
  { schema, table, storage }: Pick<WindowedTable, "schema" | "table" | "storage">,
  name: string,
): Promise<void> {
  const parameters = storage === undefined ? "" : ` with (${storage})`;
  await client.query(`create table ${schema}.${name} (like ${schema}.${table} including all)${parameters}`);
}

/** Makes a table of its name a window. */
export async function attachWindow(
  client: pg.ClientBase,
  of: WindowedTable,
  window: TimeWindow,
): Promise<void> {
  const { schema, table } = of;
  await client.query(
    `alter table ${schema}.${table} attach partition ${schema}.${window.name} ${boundsClause(of, window)}`,
  );
}
