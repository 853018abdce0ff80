import type pg from "pg";
import { placeByBucket } from "../platform/db/dialect.ts";
import {
  attachWindow,
  createWindowTable,
  isWindowed,
  missingWindow,
  type TimeWindow,
  type WindowedTable,
  windowName,
} from "../platform/db/time-windows.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { writtenColumns } from "./expiring-window.ts";
import { atGate } from "./replace-window.ts";

/** Rows added while the table is validated must still fall before the first boundary. */
const SLACK_MS = 11 * 60_000;
const SLACK_OF_LARGE_MS = 86_400_000;
const LARGE_BYTES = 1_073_741_824;
const WINDOWS_AT_FIRST = 3;

const FIND_VIEWS = `
  select distinct format('%I.%I', place.nspname, view.relname) as name, pg_get_viewdef(view.oid) as text,
    array_to_string(view.reloptions, ', ') as options
  from pg_depend as dependency
  join pg_rewrite as rule on rule.oid = dependency.objid
  join pg_class as view on view.oid = rule.ev_class and view.relkind = 'v'
  join pg_namespace as place on place.oid = view.relnamespace
  where dependency.classid = 'pg_rewrite'::regclass and dependency.refclassid = 'pg_class'::regclass
    and dependency.refobjid = $1::regclass and pg_has_role(view.relowner, 'usage')`;

/** Versions of released records with a source time in the future that get windows of their own. More are left in the first window. */
const FAR_WINDOWS_MAX = 100;

/** The constraint by which the former table becomes the first window without being scanned. */
const constraintOf = ({ table }: WindowedTable) => `${table}_before_window`;

/**
 * Partitions a table by time windows: the existing table becomes the first window without being copied, the next are created beside it, and
 * views are rebound. Validates the table once while traffic continues; blocks only for the milliseconds of the rename. Rows of the far future,
 * which would keep the first window from ever expiring, move to windows of their own. Returns false if the table has windows already.
 */
export async function openWindows(
  client: pg.ClientBase,
  of: WindowedTable,
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): Promise<boolean> {
  if (await isWindowed(client, of)) return false;
  const cut = await cutOf(client, of, nowMs, windowMs);
  const { cutMs } = cut;
  const table = `${of.schema}.${of.table}`;
  const constraint = constraintOf(of);
  await atGate(client, table, async () => {
    await client.query(`alter table ${table} drop constraint if exists ${constraint}`);
    await client.query(
      `alter table ${table} add constraint ${constraint}
        check (${of.column} is not null and ${of.column} < '${of.boundOf(cutMs)}') not valid`,
    );
  });
  const far = cut.farMs.length === 0 ? undefined : farRowsOf(of, await writtenColumns(client, of), cut);
  const validate = () => client.query(`alter table ${table} validate constraint ${constraint}`);
  if (far === undefined) await validate();
  await client.query("set search_path = pg_catalog");
  try {
    await atGate(
      client,
      table,
      async () => {
        await client.query(`lock table ${table} in access exclusive mode`);
        await becomeFirstWindow(client, of, cutMs, windowMs);
        await client.query(`alter table ${of.schema}.${of.table}_before drop constraint ${constraint}`);
        await far?.putBack(client, windowMs);
      },
      far &&
        (async () => {
          await far.takeOut(client);
          await validate();
          return true;
        }),
    );
  } finally {
    await client.query("reset search_path");
  }
  return true;
}

/** Removes the constraints of killed runs: after their time, new rows would be refused. */
export async function dropLeftConstraints(
  client: pg.ClientBase,
  tables: readonly WindowedTable[],
): Promise<void> {
  for (const of of await findLeftConstraints(client, tables)) {
    const table = `${of.schema}.${of.table}`;
    await atGate(client, table, () =>
      client.query(`alter table ${table} drop constraint if exists ${constraintOf(of)}`),
    );
  }
}

/** The tables without windows that have the constraint; during a run, also the one that it partitions. */
export async function findLeftConstraints(
  client: Queryable,
  tables: readonly WindowedTable[],
): Promise<WindowedTable[]> {
  const { rows } = await client.query<{ conrelid: string }>(
    `select format('%I.%I', place.nspname, held.relname) as conrelid
    from pg_constraint join pg_class as held on held.oid = conrelid join pg_namespace as place on place.oid = held.relnamespace
    where contype = 'c' and conname = any ($1::text[])`,
    [tables.map(constraintOf)],
  );
  const found = new Set(rows.map(({ conrelid }) => conrelid));
  return tables.filter(({ schema, table }) => found.has(`${schema}.${table}`));
}

/** Where the first window ends, and the times of later rows. */
interface Cut {
  readonly cutMs: number;
  readonly farMs: readonly number[];
}

/**
 * The end of the first window: the next boundary after all existing rows but those of the far future, or the last one if there are none.
 */
async function cutOf(
  client: pg.ClientBase,
  of: WindowedTable,
  nowMs: number,
  windowMs: number,
): Promise<Cut> {
  const greatest = `select ${of.column}::text as greatest from ${of.schema}.${of.table} order by ${of.column} desc limit 1`;
  const { rows } = await client.query<{ greatest: string | null; bytes: number }>(
    `select (${greatest}) as greatest, pg_relation_size($1::regclass)::float8 as bytes`,
    [`${of.schema}.${of.table}`],
  );
  const { greatest: last = null, bytes = 0 } = rows[0] ?? {};
  const windowAt = (ms: number) => missingWindow([], ms, windowMs) as { fromMs: number; toMs: number };
  if (last === null) return { cutMs: windowAt(nowMs).fromMs, farMs: [] };
  const slackMs = bytes > LARGE_BYTES ? SLACK_OF_LARGE_MS : SLACK_MS;
  const cutMs = windowAt(nowMs + slackMs).toMs;
  if (of.timeOf(last) < cutMs) return { cutMs, farMs: [] };
  const far = await client.query<{ at: string }>(
    `select distinct ${of.column}::text as at from ${of.schema}.${of.table}
    where ${of.column} >= '${of.boundOf(cutMs)}' order by at limit ${FAR_WINDOWS_MAX + 1}`,
  );
  if (far.rows.length > FAR_WINDOWS_MAX) return { cutMs: windowAt(of.timeOf(last)).toMs, farMs: [] };
  return { cutMs, farMs: far.rows.map(({ at }) => of.timeOf(at)) };
}

/** Takes the rows of the far future out of a table and puts them back, into windows of their own, in one transaction. */
function farRowsOf(of: WindowedTable, columns: readonly string[], { cutMs, farMs }: Cut) {
  const table = `${of.schema}.${of.table}`;
  const aside = `${of.schema}.${of.table}_far`;
  const list = columns.join(", ");
  const isFar = `${of.column} >= '${of.boundOf(cutMs)}'`;
  return {
    async takeOut(client: pg.ClientBase): Promise<void> {
      await client.query(`create table ${aside} as select ${list} from ${table} where ${isFar}`);
      await client.query(`delete from ${table} where ${isFar}`);
    },
    async putBack(client: pg.ClientBase, windowMs: number): Promise<void> {
      const windows: Pick<TimeWindow, "fromMs" | "toMs">[] = [
        { fromMs: Number.NEGATIVE_INFINITY, toMs: cutMs + WINDOWS_AT_FIRST * windowMs },
      ];
      for (const atMs of farMs) {
        const missing = missingWindow(windows, atMs, windowMs);
        if (missing === undefined) continue;
        windows.push(missing);
        const name = windowName(of.table, missing.fromMs);
        await createWindowTable(client, of, name);
        await attachWindow(client, of, { name, ...missing });
      }
      await client.query(`insert into ${table} (${list}) select ${list} from ${aside}`);
      await client.query(`drop table ${aside}`);
    },
  };
}

async function becomeFirstWindow(
  client: pg.ClientBase,
  of: WindowedTable,
  cutMs: number,
  windowMs: number,
): Promise<void> {
  const { schema, table } = of;
  const { rows: views } = await client.query<{ name: string; text: string; options: string | null }>(
    FIND_VIEWS,
    [`${schema}.${table}`],
  );
  const before = windowName(table, Number.NEGATIVE_INFINITY);
  const { rows: definitions } = await client.query<{ aside: string; again: string }>(DEFINITIONS, [
    schema,
    table,
  ]);
  await client.query(`alter table ${schema}.${table} rename to ${before}`);
  for (const { aside } of definitions) await client.query(aside);
  await client.query(
    `create table ${schema}.${table} (like ${schema}.${before} including all excluding indexes excluding constraints)
      partition by range (${of.column})`,
  );
  for (const { again } of definitions) await client.query(again);
  await placeByBucket(client, [`${schema}.${table}`]);
  await attachWindow(client, of, { name: before, fromMs: Number.NEGATIVE_INFINITY, toMs: cutMs });
  for (let fromMs = cutMs; fromMs < cutMs + WINDOWS_AT_FIRST * windowMs; fromMs += windowMs) {
    const name = windowName(table, fromMs);
    await createWindowTable(client, of, name);
    await attachWindow(client, of, { name, fromMs, toMs: fromMs + windowMs });
  }
  for (const { name, text, options } of views)
    await client.query(
      `create or replace view ${name}${options === null ? "" : ` with (${options})`} as ${text}`,
    );
}

/** Keys and indexes of a table, with statements that rename and recreate them. */
const DEFINITIONS = `
  select format('alter index %I.%I rename to %I', $1::text, named.relname, named.relname || '_before') as aside,
    case when held.oid is not null
      then format('alter table %I.%I add constraint %I %s', $1::text, $2::text, held.conname, pg_get_constraintdef(held.oid))
      else pg_get_indexdef(index.indexrelid)
    end as again
  from pg_index as index
  join pg_class as named on named.oid = index.indexrelid
  left join pg_constraint as held on held.conindid = index.indexrelid and held.contype in ('p', 'u')
  where index.indrelid = format('%I.%I', $1::text, $2::text)::regclass
  order by held.oid nulls last`;
