import type pg from "pg";
import { STATE_SCHEMA } from "./state-schema.ts";

/** A view that reads a table which a replay has put aside. */
interface BoundView {
  readonly name: string;
  readonly kept_schema: string;
  readonly mine: boolean;
  readonly options: string | null;
}

/**
 * Views that depend directly on a table that is named like one of the state's and lies in another schema. Views over
 * such views keep pointing at them, so they need nothing.
 */
const FIND_BOUND_VIEWS = `
  select distinct format('%I.%I', view_schema.nspname, view.relname) as name, table_schema.nspname as kept_schema,
    pg_has_role(view.relowner, 'usage') as mine, array_to_string(view.reloptions, ', ') as options
  from pg_class as state_table
  join pg_class as kept_table on kept_table.relname = state_table.relname and kept_table.relkind = state_table.relkind
    and kept_table.oid <> state_table.oid
  join pg_namespace as table_schema on table_schema.oid = kept_table.relnamespace
  join pg_depend as dependency on dependency.refclassid = 'pg_class'::regclass
    and dependency.refobjid = kept_table.oid and dependency.classid = 'pg_rewrite'::regclass
  join pg_rewrite as rule on rule.oid = dependency.objid
  join pg_class as view on view.oid = rule.ev_class and view.relkind = 'v'
  join pg_namespace as view_schema on view_schema.oid = view.relnamespace
  where state_table.relnamespace = $1::regnamespace and state_table.relkind in ('r', 'p')
    and table_schema.nspname like 'bellhop\\_%'
  order by name`;

/**
 * Makes every view that reads a state table read the one that stands in the state schema now, inside the caller's
 * transaction, after a swap. A view is bound to tables by their number and not by their name: unless it is made again it
 * goes on showing the tables that were put aside. Made with `create or replace`, so grants on it and views over it stay.
 * Functions need nothing as long as their body is text: it is looked up when it is planned.
 * Answers the views of other roles that this one may not replace (empty unless an operator made some).
 */
export async function rebindViews(client: pg.ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<BoundView>(FIND_BOUND_VIEWS, [STATE_SCHEMA]);
  const before = await client.query<{ search_path: string }>(
    "select current_setting('search_path') as search_path",
  );
  for (const view of rows.filter(({ mine }) => mine)) {
    // PostgreSQL leaves the schema out of what is on the search path, so with the former schema on it the tables'
    // names come out bare, and with the state schema on it they are looked up there.
    await setSearchPath(client, view.kept_schema);
    const definition = await client.query<{ text: string }>("select pg_get_viewdef($1::regclass) as text", [
      view.name,
    ]);
    await setSearchPath(client, STATE_SCHEMA);
    const options = view.options === null ? "" : ` with (${view.options})`;
    await client.query(`create or replace view ${view.name}${options} as ${definition.rows[0]?.text}`);
  }
  await setSearchPath(client, before.rows[0]?.search_path ?? STATE_SCHEMA);
  return rows.filter(({ mine }) => !mine).map(({ name }) => name);
}

async function setSearchPath(client: pg.ClientBase, path: string): Promise<void> {
  await client.query("select set_config('search_path', $1, true)", [path]);
}
