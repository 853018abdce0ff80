import type pg from "pg";
import { placeByBucket } from "../platform/db/dialect.ts";
import {
  attachWindow,
  createWindowTable,
  isWindowed,
  missingWindow,
  type WindowedTable,
  windowName,
} from "../platform/db/time-windows.ts";
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

/**
 * Partitions a table by time windows: the existing table becomes the first window without being copied, the next are created beside it, and
 * views are rebound. Validates the table once while traffic continues; blocks only for the milliseconds of the rename. Returns false if the
 * table has windows already.
 */
export async function openWindows(
  client: pg.ClientBase,
  of: WindowedTable,
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): Promise<boolean> {
  if (await isWindowed(client, of)) return false;
  const cutMs = await cutOf(client, of, nowMs, windowMs);
  const table = `${of.schema}.${of.table}`;
  const constraint = `${of.table}_before_window`;
  await atGate(client, table, async () => {
    await client.query(`alter table ${table} drop constraint if exists ${constraint}`);
    await client.query(
      `alter table ${table} add constraint ${constraint}
        check (${of.column} is not null and ${of.column} < '${of.boundOf(cutMs)}') not valid`,
    );
  });
  await client.query(`alter table ${table} validate constraint ${constraint}`);
  await client.query("set search_path = pg_catalog");
  try {
    await atGate(client, table, async () => {
      await client.query(`lock table ${table} in access exclusive mode`);
      await becomeFirstWindow(client, of, cutMs, windowMs);
      await client.query(`alter table ${of.schema}.${of.table}_before drop constraint ${constraint}`);
    });
  } finally {
    await client.query("reset search_path");
  }
  return true;
}

/** The end of the first window: the next boundary after all existing rows, or the last one if there are none. */
async function cutOf(
  client: pg.ClientBase,
  of: WindowedTable,
  nowMs: number,
  windowMs: number,
): Promise<number> {
  const { rows } = await client.query<{ greatest: string | null; bytes: number }>(
    `select (select ${of.column}::text from ${of.schema}.${of.table} order by ${of.column} desc limit 1) as greatest,
      pg_relation_size($1::regclass)::float8 as bytes`,
    [`${of.schema}.${of.table}`],
  );
  const { greatest = null, bytes = 0 } = rows[0] ?? {};
  const windowAt = (ms: number) => missingWindow([], ms, windowMs) as { fromMs: number; toMs: number };
  if (greatest === null) return windowAt(nowMs).fromMs;
  const slackMs = bytes > LARGE_BYTES ? SLACK_OF_LARGE_MS : SLACK_MS;
  return windowAt(Math.max(nowMs + slackMs, of.timeOf(greatest))).toMs;
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
