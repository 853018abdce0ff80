import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { VERSION_WINDOWS } from "../apply/state/write-versions.ts";
import { lowestIdAt } from "../ingest/log/part-name.ts";
import { ACCEPT_LOG, REQUEST_OUTCOME, readWindowMs } from "../ingest/log/partitions.ts";
import { endWithClient, reportProcess, withSession } from "../platform/db/connection.ts";
import { WorkUnderWay, withExclusiveWork } from "../platform/db/coordination.ts";
import type { Database } from "../platform/db/open-database.ts";
import { readStatement } from "../platform/db/statement.ts";
import { isWindowed, type TimeWindow, type WindowedTable } from "../platform/db/time-windows.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import { expireLogWindow } from "./expire-log.ts";
import { expireOutcomeWindow } from "./expire-outcomes.ts";
import { dropAllLate, expireVersionWindow, resourceOfVersions } from "./expire-versions.ts";
import {
  type ExpiringWindow,
  findExpiring,
  type RetentionRules,
  readClients,
  writeMark,
} from "./expiring-window.ts";
import { dropLeftConstraints, findLeftConstraints, openWindows } from "./open-windows.ts";
import { type Expired, NoRoom, type RetentionSessions } from "./replace-window.ts";
import { listTerms, RETAINED, type Retained, Terms } from "./terms.ts";

const forgetSome = readStatement(new URL("./sql/forget-arrivals.sql", import.meta.url));

/** Feed health looks back at most 28 days (src/insight/feed-pulse.ts); one week in reserve. */
const KEPT_MS = 35 * 86_400_000;
/** Arrivals deleted per statement and feed: an hour of a busy one, so one statement per bucket usually suffices. */
const NOTES_AT_ONCE = 500;

/** Deletes arrivals older than feed health needs. Keeps the newest of each feed. */
async function deleteOldArrivals(client: pg.ClientBase, nowMs: number): Promise<void> {
  const before = lowestIdAt(Math.floor(nowMs) - KEPT_MS);
  const { rows } = await client.query<{ bucket: number; ids: number[] }>(
    "select bucket, array_agg(property_id) as ids from bellhop.property group by bucket order by bucket",
  );
  for (const { bucket, ids } of rows) {
    const values = [bucket, before, NOTES_AT_ONCE, ids];
    let forgotten: number | null;
    do forgotten = (await client.query({ ...forgetSome, values })).rowCount;
    while (forgotten !== null && forgotten > 0);
  }
}

/** Result of a run. */
export interface RetentionRun {
  /** `busy`: another run, a replay or an erasure is in progress. */
  readonly state: "done" | "busy";
  /** Windows with expired data; the only result of a dry run. */
  readonly due: readonly { readonly table: string; readonly window: string; readonly until: string }[];
  readonly expired: readonly Expired[];
}

interface RetentionOptions {
  readonly clientConfig: pg.ClientConfig;
  readonly dryRun?: boolean;
  /** Milliseconds since 1970; default: the database's clock. */
  readonly nowMs?: number;
  /** Aborts the run; the window being copied stays unchanged. */
  readonly signal?: AbortSignal;
  /** Called with the backend process id of the low-priority copying session. */
  copying?(processId: number): void;
  /** Disk space available for copies; unlimited by default. */
  roomBytes?(): Promise<number>;
  /** Called after each window. */
  progress?(expired: Expired): void;
}

/**
 * Deletes expired data from the log, outcomes and versions (docs/retention.md), window by window, while the service runs, and old feed
 * arrivals. One run at a time per database. Throws NoRoom, after all other windows, if there is no space to copy one.
 */
export async function runRetention(options: RetentionOptions): Promise<RetentionRun> {
  try {
    return await inSession(options, async (copying) => {
      reportProcess(copying, (processId) => options.copying?.(processId));
      return withExclusiveWork(copying, () => runOn(copying, options));
    });
  } catch (error) {
    if (error instanceof WorkUnderWay) return { state: "busy", due: [], expired: [] };
    throw error;
  }
}

function inSession<Result>(
  { clientConfig, signal }: RetentionOptions,
  work: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  return withSession(clientConfig, "retention", async (client) => {
    const end = () => void client.end().catch(() => undefined);
    signal?.addEventListener("abort", end);
    try {
      signal?.throwIfAborted();
      await endWithClient(client);
      return await work(client);
    } finally {
      signal?.removeEventListener("abort", end);
    }
  });
}

async function runOn(copying: pg.ClientBase, options: RetentionOptions): Promise<RetentionRun> {
  const rules = await readRules(copying, options.nowMs);
  if (options.dryRun === true) return { state: "done", due: await listDue(copying, rules), expired: [] };
  await dropStrays(copying);
  await deleteOldArrivals(copying, rules.nowMs);
  return inSession(options, async (replacing) => {
    const { roomBytes } = options;
    const sessions = { copying, replacing, ...(roomBytes && { roomBytes }) };
    await openTheirWindows(replacing, rules);
    const due = await listDue(copying, rules);
    return { state: "done", due, expired: due.length === 0 ? [] : await expireAll(sessions, rules, options) };
  });
}

/** The periods, client codes and time that a run uses. */
async function readRules(client: Queryable, nowMs: number | undefined): Promise<RetentionRules> {
  const { rows } = await client.query<{ now_ms: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms",
  );
  return {
    terms: new Terms(await listTerms(client)),
    clients: await readClients(client),
    nowMs: nowMs ?? rows[0]?.now_ms ?? Date.now(),
  };
}

/** Partitions tables once a first period applies to their data. */
async function openTheirWindows(client: pg.ClientBase, { terms, nowMs }: RetentionRules): Promise<void> {
  const windowMs = await readWindowMs(client);
  if (terms.shortest("outcomes") < Number.POSITIVE_INFINITY)
    await openWindows(client, REQUEST_OUTCOME, { nowMs, windowMs });
  if (terms.shortest("versions") < Number.POSITIVE_INFINITY)
    for (const versions of VERSION_WINDOWS) await openWindows(client, versions, { nowMs, windowMs });
}

/** A table with windows: the kinds of data it holds, and how to expire a window. */
interface ExpiringTable {
  readonly of: WindowedTable;
  readonly kinds: readonly Retained[];
  readonly resource?: ResourceLetter;
  /** Undefined if not all of the window has been applied yet. */
  expire(sessions: RetentionSessions, expiring: ExpiringWindow): Promise<Expired | undefined>;
}

/** The log comes first: it determines what the others may delete. */
const TABLES: readonly ExpiringTable[] = [
  { of: ACCEPT_LOG, kinds: ["payloads", "outcomes"], expire: expireLogWindow },
  { of: REQUEST_OUTCOME, kinds: ["outcomes"], expire: expireOutcomeWindow },
  ...VERSION_WINDOWS.map((of): ExpiringTable => {
    const resource = resourceOfVersions(of);
    const expire: ExpiringTable["expire"] = (sessions, expiring) =>
      expireVersionWindow(sessions, of, expiring);
    return { of, kinds: ["versions"], resource, expire };
  }),
];

/** Windows with expired data that has not been deleted. */
async function listDue(client: Queryable, rules: RetentionRules): Promise<RetentionRun["due"]> {
  const due: RetentionRun["due"][number][] = [];
  for (const { of, kinds, resource } of TABLES)
    for (const { window } of await findExpiring(client, of, kinds, rules, resource))
      due.push({ table: of.table, window: window.name, until: new Date(window.toMs).toISOString() });
  return due;
}

async function expireAll(
  sessions: RetentionSessions,
  rules: RetentionRules,
  { progress }: RetentionOptions,
): Promise<Expired[]> {
  const client = sessions.copying;
  const all: Expired[] = [];
  /** Time ranges that must wait for the next run: other tables' windows follow the log's. */
  const waiting: Pick<TimeWindow, "fromMs" | "toMs">[] = [];
  /** Windows of the log that could not be copied and still require their outcomes. */
  const withoutRoom: Pick<TimeWindow, "fromMs" | "toMs">[] = [];
  let noRoom: NoRoom | undefined;
  for (const { of, kinds, resource, expire } of TABLES) {
    const due = await findExpiring(client, of, kinds, rules, resource);
    // Clear the mark, so that a window that is postponed stays due although another window's horizon makes new client codes known.
    for (const { window, isMarked } of due) if (isMarked) await writeMark(client, of, window.name, "");
    const before = of === REQUEST_OUTCOME ? [...waiting, ...withoutRoom] : waiting;
    for (const expiring of due) {
      const { fromMs, toMs } = expiring.window;
      if (before.some((other) => other.fromMs < toMs && fromMs < other.toMs)) continue;
      if (await markIfEmpty(client, of, expiring)) continue;
      try {
        const expired = await expire(sessions, expiring);
        // Unapplied parts block everything younger, whose outcomes and versions are still to come.
        if (expired === undefined) waiting.push({ fromMs, toMs: Number.POSITIVE_INFINITY });
        else {
          all.push(expired);
          progress?.(expired);
        }
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error;
        noRoom ??= error;
        if (of === ACCEPT_LOG) withoutRoom.push({ fromMs, toMs });
      }
    }
  }
  if (noRoom !== undefined) throw noRoom;
  return all;
}

/** Whether a window is empty; then it is only marked, without blocking anyone. */
async function markIfEmpty(
  client: pg.ClientBase,
  of: WindowedTable,
  { window, mark }: ExpiringWindow,
): Promise<boolean> {
  const { rowCount } = await client.query(`select from ${of.schema}.${window.name} limit 1`);
  if (rowCount === 0) await writeMark(client, of, window.name, mark);
  return rowCount === 0;
}

/** Tables that get windows once a term is set. */
const CONSTRAINED = TABLES.map(({ of }) => of).filter((of) => of !== ACCEPT_LOG);

/** Successor tables left by a killed run; during a run, also its own. */
async function findStrays(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', of.schema, relname) as name
    from unnest($1::text[], $2::text[]) as of (schema, windowed)
    join pg_class on relnamespace = of.schema::regnamespace and relkind = 'r' and not relispartition
      and relname ~ ('^' || of.windowed || '_(before|[0-9]{8})')`,
    [TABLES.map(({ of }) => of.schema), TABLES.map(({ of }) => of.table)],
  );
  return rows.map(({ name }) => name);
}

/** Drops them, which are copies of windows, and the constraints of a run that was killed as it opened windows. The caller keeps other runs off (`withExclusiveWork`). */
export async function dropStrays(client: pg.ClientBase): Promise<void> {
  const strays = await findStrays(client);
  if (strays.length > 0) for (const versions of VERSION_WINDOWS) await dropAllLate(client, versions);
  for (const name of strays) await client.query(`drop table ${name}`);
  await dropLeftConstraints(client, CONSTRAINED);
}

/** Retention that is overdue. */
export interface Overdue {
  /** Whether any period is configured. */
  readonly isAnyTerm: boolean;
  /** Windows with expired data. */
  readonly windows: RetentionRun["due"];
  /** Tables with a period that have no windows. */
  readonly unopened: readonly string[];
}

const LAST_CHANGE = `
  select coalesce((extract(epoch from clock_timestamp() - max(changed_at)) * 1000)::float8, 'Infinity') as ms
  from bellhop.property_setting where property_code is null and name like 'retention.%'`;

/** Data overdue for longer than `graceMs`, which a run may take. Empty if periods have changed since. Read-only; blocks nobody. */
export async function findOverdue(client: Queryable, graceMs: number): Promise<Overdue> {
  const rules = await readRules(client, undefined);
  const isSet = (kind: (typeof RETAINED)[number]) => rules.terms.shortest(kind) < Number.POSITIVE_INFINITY;
  const isAnyTerm = RETAINED.some(isSet);
  const nothing = { isAnyTerm, windows: [], unopened: [] };
  if (!isAnyTerm) return nothing;
  const { rows } = await client.query<{ ms: number }>(LAST_CHANGE);
  if ((rows[0]?.ms ?? 0) < graceMs) return nothing;
  const now = await listDue(client, rules);
  // Exclude windows processed since under a later rule.
  const before = await listDue(client, { ...rules, nowMs: rules.nowMs - graceMs });
  const names = new Set(before.map(({ window }) => window));
  const unopened: string[] = [];
  if (isSet("outcomes") && !(await isWindowed(client, REQUEST_OUTCOME))) unopened.push(REQUEST_OUTCOME.table);
  if (isSet("versions"))
    for (const versions of VERSION_WINDOWS)
      if (!(await isWindowed(client, versions))) unopened.push(versions.table);
  return { ...nothing, windows: now.filter(({ window }) => names.has(window)), unopened };
}

/** The longest interval, so data outlives its period by at most this, however long windows are. */
const PAUSE_MS_MAX = 3_600_000;
/** With the shortest windows (one minute), expired data is deleted within two of them. */
const RUNS_PER_WINDOW = 2;
/** Leftovers of a killed run may fill the disk, so they are removed before the next run. */
const SWEEP_MS = 60_000;

/** Runs retention periodically. If several nodes do, one at a time finds work. */
export function keepRetention(
  { clientConfig, pool }: Pick<Database, "clientConfig" | "pool">,
  windowMs: number,
  heard: Required<Pick<RetentionOptions, "copying" | "roomBytes" | "progress">> & {
    ran(run: RetentionRun): void;
    failed(error: unknown): void;
  },
): { stop(): Promise<void> } {
  const ending = new AbortController();
  const options = { ...heard, clientConfig, signal: ending.signal };
  const everyMs = Math.min(PAUSE_MS_MAX, windowMs / RUNS_PER_WINDOW);
  const repeat = new Repeat(async () => heard.ran(await runRetention(options)), everyMs, heard.failed);
  const sweep = async () => {
    const left = [...(await findStrays(pool)), ...(await findLeftConstraints(pool, CONSTRAINED))];
    if (left.length === 0) return;
    await inSession(options, (client) => withExclusiveWork(client, () => dropStrays(client)));
  };
  // Errors are reported by the next run; the usual one is that a run is in progress.
  const sweeping = new Repeat(sweep, SWEEP_MS, () => undefined, 0);
  return {
    stop: async () => {
      ending.abort();
      await Promise.all([repeat.stop(), sweeping.stop()]);
    },
  };
}
