import pg from "pg";
import { VERSION_WINDOWS } from "../apply/state/version-windows.ts";
import { BUCKET_COUNT } from "../ingest/log/bucket.ts";
import { ACCEPT_LOG, REQUEST_OUTCOME, readWindowMs } from "../ingest/log/partitions.ts";
import { lowestIdAt } from "../ingest/log/request-id.ts";
import { endWithClient, tellProcess } from "../platform/db/connection.ts";
import { limitationOf } from "../platform/db/dialect.ts";
import { WorkUnderWay, withExclusiveWork } from "../platform/db/exclusive-work.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { TimeWindow, WindowedTable } from "../platform/db/time-windows.ts";
import { type Expired, expireLogWindow } from "./expire-log.ts";
import { expireVersionWindow, forgetAllLate, resourceOfVersions } from "./expire-versions.ts";
import {
  type ExpiringWindow,
  findExpiring,
  type RetentionRules,
  readClients,
  writeMark,
  writtenColumns,
} from "./expiring-window.ts";
import { openWindows } from "./open-windows.ts";
import { makeSuccessor, type RetentionSessions, replaceWindow } from "./replace-window.ts";
import { listTerms, Terms } from "./terms.ts";

/**
 * Takes out of a window of outcomes those of parts that are no longer requests: after the windows of the log have been gone
 * through, which say so.
 */
async function expireOutcomeWindow(
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

const forgetSome = readStatement(new URL("./sql/forget-arrivals.sql", import.meta.url));

/** Feed health looks back 28 days at most (src/insight/feed-health.ts); a week more than that, so that nobody has to be exact. */
const KEPT_MS = 35 * 86_400_000;
/** Notes of one feed that a statement takes out: an hour of a busy one, so one statement a bucket is nearly always enough. */
const NOTES_AT_ONCE = 500;

/** Forgets when feeds arrived longer ago than anything asks for. The newest note of each stays; answers how many went. */
async function forgetArrivals(client: pg.ClientBase, nowMs: number): Promise<number> {
  const before = lowestIdAt(Math.floor(nowMs) - KEPT_MS);
  let forgotten = 0;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
    let some: number;
    do {
      const { rowCount } = await client.query({ ...forgetSome, values: [bucket, before, NOTES_AT_ONCE] });
      some = rowCount ?? 0;
      forgotten += some;
    } while (some > 0);
  }
  return forgotten;
}

/** Tables whose windows are replaced. */
const TABLES: readonly WindowedTable[] = [ACCEPT_LOG, REQUEST_OUTCOME, ...VERSION_WINDOWS];

/** What a run found to be past its term, and what it did. */
export interface RetentionRun {
  /** `busy`: another run, a replay or an erasure is under way; `distributed`: windows cannot be replaced on Citus. */
  readonly state: "done" | "busy" | "distributed";
  /** Windows that something is to be taken out of; of a dry run only this. */
  readonly due: readonly { readonly table: string; readonly window: string; readonly until: string }[];
  readonly expired: readonly Expired[];
}

export interface RetentionOptions {
  readonly clientConfig: pg.ClientConfig;
  readonly dryRun?: boolean;
  /** The database's clock by default; milliseconds since 1970. */
  readonly nowMs?: number;
  /** Ends the run where it stands: what it was about to replace stays as it is. */
  readonly signal?: AbortSignal;
  /** A session that nobody waits for was opened; its process on the database's machine. */
  copying?(processId: number): void;
  /** Called after each window. */
  progress?(expired: Expired): void;
}

/**
 * Takes out of the log and its outcomes what is past its term (docs/retention.md), window by window, while the service runs, and
 * whatever the terms are, of when feeds arrived what nothing asks for any more.
 * One run at a time in a database.
 */
export async function runRetention(options: RetentionOptions): Promise<RetentionRun> {
  const open: pg.Client[] = [];
  const end = async () => {
    for (const client of open.splice(0)) await client.end().catch(() => undefined);
  };
  const ending = () => void end();
  options.signal?.addEventListener("abort", ending);
  try {
    const copying = await openSession(open, options);
    if ((await limitationOf(copying, "retention")) !== undefined)
      return { state: "distributed", due: [], expired: [] };
    return await withExclusiveWork(copying, () => runOn(copying, () => openSession(open, options), options));
  } catch (error) {
    if (error instanceof WorkUnderWay) return { state: "busy", due: [], expired: [] };
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", ending);
    await end();
  }
}

/** The first one copies. */
async function openSession(
  open: pg.Client[],
  { clientConfig, copying }: RetentionOptions,
): Promise<pg.Client> {
  const client = new pg.Client({ ...clientConfig, application_name: "bellhop retention" });
  client.on("error", () => undefined);
  open.push(client);
  await client.connect();
  await endWithClient(client);
  if (open[0] === client) tellProcess(client, (processId) => copying?.(processId));
  return client;
}

async function runOn(
  copying: pg.ClientBase,
  another: () => Promise<pg.ClientBase>,
  options: RetentionOptions,
): Promise<RetentionRun> {
  const rules = await readRules(copying, options.nowMs);
  if (options.dryRun === true) return { state: "done", due: await listDue(copying, rules), expired: [] };
  await forgetArrivals(copying, rules.nowMs);
  const sessions = { copying, replacing: await another() };
  await openTheirWindows(sessions.replacing, rules);
  const due = await listDue(copying, rules);
  if (due.length === 0) return { state: "done", due, expired: [] };
  await dropStrays(sessions);
  return { state: "done", due, expired: await expireAll(sessions, rules, options) };
}

/** What is set, and for whom, now or at another time. */
export async function readRules(client: pg.ClientBase, nowMs: number | undefined): Promise<RetentionRules> {
  const { rows } = await client.query<{ now_ms: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms",
  );
  return {
    terms: new Terms(await listTerms(client)),
    clients: await readClients(client),
    nowMs: nowMs ?? rows[0]?.now_ms ?? Date.now(),
  };
}

/** Tables get windows when there is a first term for what they hold. */
async function openTheirWindows(client: pg.ClientBase, { terms, nowMs }: RetentionRules): Promise<void> {
  const windowMs = await readWindowMs(client);
  if (terms.shortest("outcomes") < Number.POSITIVE_INFINITY)
    await openWindows(client, REQUEST_OUTCOME, { nowMs, windowMs });
  if (terms.shortest("versions") < Number.POSITIVE_INFINITY)
    for (const of of VERSION_WINDOWS) await openWindows(client, of, { nowMs, windowMs });
}

/** The windows of which something is past its term, and has not been taken out. */
export async function listDue(client: pg.ClientBase, rules: RetentionRules): Promise<RetentionRun["due"]> {
  const log = await findExpiring(client, ACCEPT_LOG, ["payloads", "outcomes"], rules);
  const outcomes = await findExpiring(client, REQUEST_OUTCOME, ["outcomes"], rules);
  const versions: (readonly [string, TimeWindow])[] = [];
  for (const of of VERSION_WINDOWS)
    for (const { window } of await findExpiring(client, of, ["versions"], rules, resourceOfVersions(of)))
      versions.push([of.table, window]);
  const entries = [
    ...log.map(({ window }) => [ACCEPT_LOG.table, window] as const),
    ...outcomes.map(({ window }) => [REQUEST_OUTCOME.table, window] as const),
    ...versions,
  ];
  return entries.map(([table, { name, toMs }]) => ({
    table,
    window: name,
    until: new Date(toMs).toISOString(),
  }));
}

async function expireAll(
  sessions: RetentionSessions,
  rules: RetentionRules,
  { progress }: RetentionOptions,
): Promise<Expired[]> {
  const client = sessions.copying;
  const all: Expired[] = [];
  const add = (expired: Expired) => {
    all.push(expired);
    progress?.(expired);
  };
  let untilMs = Number.POSITIVE_INFINITY;
  for (const expiring of await findExpiring(client, ACCEPT_LOG, ["payloads", "outcomes"], rules)) {
    if (await passEmpty(client, ACCEPT_LOG, expiring)) continue;
    const expired = await expireLogWindow(sessions, expiring);
    if (expired === undefined) {
      // What has not been applied yet is in the way of all that is younger: its outcomes and versions are still to come.
      untilMs = expiring.window.fromMs;
      break;
    }
    add(expired);
  }
  for (const expiring of await findExpiring(client, REQUEST_OUTCOME, ["outcomes"], rules))
    if (expiring.window.toMs <= untilMs && !(await passEmpty(client, REQUEST_OUTCOME, expiring)))
      add(await expireOutcomeWindow(sessions, expiring));
  for (const of of VERSION_WINDOWS)
    for (const expiring of await findExpiring(client, of, ["versions"], rules, resourceOfVersions(of)))
      if (expiring.window.toMs <= untilMs && !(await passEmpty(client, of, expiring)))
        add(await expireVersionWindow(sessions, of, expiring));
  return all;
}

/** Whether there is nothing in a window: then it is only marked, and nobody is held up. */
async function passEmpty(
  client: pg.ClientBase,
  of: WindowedTable,
  { window, mark }: ExpiringWindow,
): Promise<boolean> {
  const { rowCount } = await client.query(`select from ${of.schema}.${window.name} limit 1`);
  if (rowCount === 0) await writeMark(client, of, window.name, mark);
  return rowCount === 0;
}

/** Drops what a run that was killed left: tables that were to stand in a window's place. */
async function dropStrays({ copying, replacing }: RetentionSessions): Promise<void> {
  for (const of of VERSION_WINDOWS) await forgetAllLate(replacing, of);
  for (const { schema, table } of TABLES) {
    const { rows } = await copying.query<{ name: string }>(
      `select format('%I.%I', $1::text, relname) as name from pg_class
      where relnamespace = $1::text::regnamespace and relkind = 'r' and not relispartition
        and relname ~ ('^' || $2::text || '_(before|[0-9]{8})')`,
      [schema, table],
    );
    for (const { name } of rows) await copying.query(`drop table ${name}`);
  }
}
