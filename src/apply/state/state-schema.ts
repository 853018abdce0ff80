import type pg from "pg";
import { placeByBucket } from "../../platform/db/dialect.ts";
import { readStatement } from "../../platform/db/statement.ts";
import { VERSION_TABLES } from "./record.ts";

/** Sums two independent 64-bit hashes of each row, so the digest does not depend on the order of rows. */
export const ROW_SUM = (row: string) =>
  `count(*)::float8 as count, concat(
    coalesce(sum(hashtextextended(${row}, 1)), 0), '/', coalesce(sum(hashtextextended(${row}, 2)), 0)) as hash`;

export interface RowSum {
  readonly count: number;
  readonly hash: string;
}

const CODES = `dimension.status, dimension.room_type_code, dimension.booked_room_type_code, dimension.market_segment_code,
  dimension.group_block_code, dimension.rate_code, dimension.channel, dimension.currency_code, dimension.cause`;

const RUNS = readStatement(
  new URL("../../platform/db/analytics/sql/runs-of-delta.sql", import.meta.url),
).text;

interface Ledger {
  /** SQL for the entries in a schema. */
  readonly entriesOf: (schema: string) => string;
  /** Columns that identify an entry besides its dimension, and those to sum. */
  readonly about: string;
  readonly sums: readonly string[];
}

const NIGHT_COLUMNS = `source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket,
  room_revenue, gross_room_revenue, key, share_id`;

/** SQL for the night entries of a schema, from both tables, optionally those for which a condition on common columns holds. */
export const nightEntriesOf = (schema: string, condition = "true"): string =>
  `(select ${NIGHT_COLUMNS} from ${schema}.night_entry where ${condition} union all
    select * from (with delta as (select * from ${schema}.ledger_delta where ${condition}) ${RUNS}) as run)`;

const NIGHTS: Ledger = {
  entriesOf: (schema) => nightEntriesOf(schema),
  about: "key, share_id",
  sums: ["rooms", "adults", "children", "room_revenue", "gross_room_revenue"],
};
const BLOCKS: Ledger = {
  entriesOf: (schema) => `${schema}.block_entry`,
  about: "key",
  sums: ["blocks", "picked_up", "original_blocks"],
};

/** The non-zero sums that begin or end at each date, by source time and receipt, however changes are split into entries. */
function edges(schema: string, { entriesOf, about, sums }: Ledger): string {
  const sumOf = (column: string) => `coalesce(sum(sign * ${column}), 0)`;
  const columns = `bucket, property_id, dimension, ${about}, source_time, received_at`;
  const edge = (date: string, sign: string) =>
    `select ${columns}, ${date} as date, ${sign} as sign, ${sums.join(", ")} from ${entriesOf(schema)} as entry`;
  return `
    select edge.bucket, edge.property_id, edge.date, edge.source_time, edge.received_at, ${about}, ${CODES},
      ${sums.map((column) => `trim_scale(${sumOf(column)}::numeric) as ${column}`).join(", ")}
    from (${edge("first_night", "1")} union all ${edge("first_night + nights", "-1")}) as edge
    join ${schema}.night_dimension as dimension
      on dimension.bucket = edge.bucket and dimension.property_id = edge.property_id
      and dimension.dimension = edge.dimension
    group by edge.bucket, edge.property_id, edge.date, edge.source_time, edge.received_at, ${about}, ${CODES}
    having ${sums.map((column) => `${sumOf(column)} <> 0`).join(" or ")}`;
}

async function digest(client: pg.ClientBase, schema: string, ledger: Ledger): Promise<RowSum> {
  const { rows } = await client.query<RowSum>(
    `select ${ROW_SUM("row(edge.*)::text")} from (${edges(schema, ledger)}) as edge`,
  );
  return rows[0] ?? { count: 0, hash: "" };
}

/** The schema that readers, views and appliers use. */
export const STATE_SCHEMA = "bellhop_state";

/** A replay keeps these tables if the log can no longer derive them. */
const LEDGER_TABLES: readonly string[] = [
  "night_entry",
  "ledger_delta",
  "block_entry",
  "night_dimension",
  "released_copy",
  "ledger_segment",
  "ledger_segment_progress",
  "known_books",
];

const STATE_TABLES: readonly string[] = [
  "apply_cursor",
  "current_record",
  ...Object.values(VERSION_TABLES),
  "known_room_type",
  ...LEDGER_TABLES,
];

const SCHEMA_NAME = /^bellhop_[a-z0-9_]{1,50}$/;

/** Guards names that are interpolated into statements. */
function checked(schema: string): string {
  if (!SCHEMA_NAME.test(schema)) throw new Error(`Not a state schema's name: ${schema}`);
  return schema;
}

/** Statements for what `create table … like` omits: keys, indexes, storage parameters and privileges. */
const COPY_DEFINITIONS = `
  with state_table as (
    select oid, relname, reloptions, relowner, relacl from pg_class
    where relnamespace = $1::text::regnamespace and relkind in ('r', 'p') and relname = any ($3)
  )
  select format('alter table %I.%I add constraint %I %s', $2::text, relname, conname, pg_get_constraintdef(key.oid)) as statement
  from state_table join pg_constraint as key on key.conrelid = state_table.oid and key.contype in ('p', 'u')
  union all
  select regexp_replace(pg_get_indexdef(indexrelid), format(' ON (ONLY )?%I\\.', $1::text), format(' ON %I.', $2::text))
  from state_table join pg_index on indrelid = state_table.oid
  where not exists (select from pg_constraint where conindid = indexrelid)
  union all
  select format('alter table %I.%I set (%s)', $2::text, relname, array_to_string(reloptions, ', '))
  from state_table where reloptions is not null
  union all
  select format('grant %s on %I.%I to %s', privilege_type, $2::text, relname, case grantee when 0 then 'public' else grantee::regrole::text end)
  from state_table cross join lateral aclexplode(relacl) where grantee <> relowner
  union all
  select format('grant %s on schema %I to %s', privilege_type, $2::text, case grantee when 0 then 'public' else grantee::regrole::text end)
  from pg_namespace cross join lateral aclexplode(nspacl) where nspname = $1::text and grantee <> nspowner`;

/** Creates a schema with empty copies of the live tables, including indexes, storage parameters, privileges and windows. */
export async function createStateSchema(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`create schema ${checked(schema)}`);
  const windowed = await readWindowedTables(client, STATE_SCHEMA);
  for (const table of STATE_TABLES) {
    await client.query(
      `create table ${schema}.${table} (like ${STATE_SCHEMA}.${table} including all excluding indexes)
      ${windowed.has(table) ? "partition by range (source_time)" : ""}`,
    );
  }
  const { rows } = await client.query<{ statement: string }>(COPY_DEFINITIONS, [
    STATE_SCHEMA,
    schema,
    STATE_TABLES,
  ]);
  for (const { statement } of rows) await client.query(statement);
  await copyWindows(client, schema);
  await placeByBucket(
    client,
    STATE_TABLES.map((table) => `${schema}.${table}`),
  );
}

/** The partitioned tables of a state schema, each with the names and bounds of its partitions. */
async function readWindowedTables(
  client: pg.ClientBase,
  schema: string,
): Promise<Map<string, { readonly name: string; readonly bounds: string }[]>> {
  const { rows } = await client.query<{ table: string; name: string; bounds: string }>(
    `select parent.relname as table, partition.relname as name, pg_get_expr(partition.relpartbound, partition.oid) as bounds
    from pg_class as parent
    join pg_inherits as child on child.inhparent = parent.oid
    join pg_class as partition on partition.oid = child.inhrelid
    where parent.relnamespace = $1::regnamespace and parent.relkind = 'p'
      and parent.relname = any ($2) and partition.relkind = 'r'`,
    [schema, STATE_TABLES],
  );
  return Map.groupBy(rows, ({ table }) => table);
}

/** Creates the live windows that a rebuilt schema lacks. */
export async function copyWindows(client: pg.ClientBase, schema: string): Promise<void> {
  const made = await readWindowedTables(client, checked(schema));
  for (const [table, windows] of await readWindowedTables(client, STATE_SCHEMA)) {
    const known = new Set(made.get(table)?.map(({ bounds }) => bounds));
    for (const { name, bounds } of windows)
      if (!known.has(bounds))
        await client.query(`create table ${schema}.${name} partition of ${schema}.${table} ${bounds}`);
  }
}

export async function dropStateSchema(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(`drop schema if exists ${checked(schema)} cascade`);
}

/** Counts and hashes of a state that do not depend on the order of rows. */
export interface StateDigest {
  readonly currentRecords: number;
  readonly currentHash: string;
  readonly versions: number;
  readonly versionsHash: string;
  /** Number of edges (see `edges`) of the stay-night ledger. */
  readonly nights: number;
  readonly nightsHash: string;
  readonly blocks: number;
  readonly blocksHash: string;
}

/** The properties whose versions of a resource retention has deleted, and from which source time they are complete. */
const READ_KNOWN_FROM = `
  select array_agg(property.property_id) as ids, array_agg(horizon.known_from::text) as times
  from bellhop.retention_horizon as horizon join bellhop.property as property using (client_code)
  where horizon.kind = 'versions' and horizon.resource = $1`;

interface Condition {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A condition for versions within the retention horizon. Older ones exist or not, depending on which windows have expired. */
async function knownVersions(client: pg.ClientBase, schema: string, resource: string): Promise<Condition> {
  const { rows } = await client.query<{ ids: number[] | null; times: string[] }>(READ_KNOWN_FROM, [resource]);
  const [{ ids = null, times = [] } = {}] = rows;
  if (ids === null) return { text: "", values: [] };
  const text = `
    left join unnest($1::integer[], $2::timestamptz[]) as horizon (property_id, known_from)
      on horizon.property_id = version.property_id
    left join ${schema}.current_record as current
      on current.bucket = version.bucket and current.property_id = version.property_id
      and current.resource = '${resource}' and current.key = version.key and current.source_time = version.source_time
    where version.source_time >= coalesce(horizon.known_from, '-infinity') or current.key is not null`;
  return { text, values: [ids, times] };
}

/**
 * Digests current records, versions with receipt and facts, and the ledger. Leaves out values that depend on the order of applying:
 * outcome, change number, and which version stores the facts of a content.
 */
export async function digestState(client: pg.ClientBase, schema: string): Promise<StateDigest> {
  checked(schema);
  const current = await client.query<RowSum>(
    `select ${ROW_SUM(`concat_ws('|', bucket, property_id, resource, key, extract(epoch from source_time), request_id,
      record_index, encode(content_hash, 'hex'), status, from_date, to_date)`)} from ${schema}.current_record`,
  );
  let versions = 0;
  const hashes: string[] = [];
  for (const [resource, table] of Object.entries(VERSION_TABLES)) {
    const known = await knownVersions(client, schema, resource);
    const { rows } = await client.query<RowSum>(
      `select ${ROW_SUM(`row(version.bucket, version.property_id, version.key, version.source_time, version.content_hash,
        version.request_id, version.record_index, version.status, facts.facts::text[])::text`)}
      from ${schema}.${table} as version
      join ${schema}.${table} as facts
        on facts.bucket = version.bucket and facts.property_id = version.property_id and facts.key = version.key
        and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
      ${known.text}`,
      [...known.values],
    );
    versions += rows[0]?.count ?? 0;
    hashes.push(rows[0]?.hash ?? "");
  }
  const nights = await digest(client, schema, NIGHTS);
  const blocks = await digest(client, schema, BLOCKS);
  return {
    currentRecords: current.rows[0]?.count ?? 0,
    currentHash: current.rows[0]?.hash ?? "",
    versions,
    versionsHash: hashes.join(" "),
    nights: nights.count,
    nightsHash: nights.hash,
    blocks: blocks.count,
    blocksHash: blocks.hash,
  };
}

const VERSION_KEY = ["bucket", "property_id", "key", "source_time", "content_hash"];

/** Copies live outcomes and change numbers to rebuilt versions, so that change feed cursors stay valid. Idempotent. */
export async function carryOutcomes(client: pg.ClientBase, schema: string): Promise<void> {
  checked(schema);
  const sameVersion = VERSION_KEY.map((column) => `live.${column} = rebuilt.${column}`).join(" and ");
  for (const table of Object.values(VERSION_TABLES)) {
    await client.query(
      `update ${schema}.${table} as rebuilt set outcome = live.outcome, change_no = live.change_no,
        is_update = live.is_update
      from ${STATE_SCHEMA}.${table} as live
      where ${sameVersion}
        and (rebuilt.outcome, rebuilt.change_no, rebuilt.is_update)
          is distinct from (live.outcome, live.change_no, live.is_update)`,
    );
  }
}

/** Numbers records whose current content the rebuild changed, under the leases of all buckets. Returns how many. */
export async function numberCorrections(
  client: pg.ClientBase,
  schema: string,
  bucketCount: number,
): Promise<number> {
  checked(schema);
  let corrected = 0;
  // One bucket at a time, so that Citus runs each statement on one worker.
  for (let bucket = 0; bucket < bucketCount; bucket += 1) {
    for (const [resource, table] of Object.entries(VERSION_TABLES)) {
      const { rowCount } = await client.query(
        `with corrected as (
        select rebuilt.bucket, rebuilt.property_id, rebuilt.key, rebuilt.source_time, rebuilt.content_hash,
          live.key is not null as is_update,
          counter.next_change - 1 + row_number() over (order by rebuilt.property_id, rebuilt.key) as change_no
        from ${schema}.current_record as rebuilt
        join bellhop.change_counter as counter on counter.bucket = $1
        left join ${STATE_SCHEMA}.current_record as live
          on live.bucket = $1 and live.property_id = rebuilt.property_id
          and live.resource = rebuilt.resource and live.key = rebuilt.key
        where rebuilt.bucket = $1 and rebuilt.resource = '${resource}' and live.content_hash is distinct from rebuilt.content_hash
      ), counted as (
        update bellhop.change_counter as counter set next_change = highest.change_no + 1
        from (select max(change_no) as change_no from corrected) as highest
        where counter.bucket = $1 and highest.change_no is not null
      )
      update ${schema}.${table} as version set change_no = corrected.change_no, is_update = corrected.is_update
      from corrected
      where version.bucket = $1
        and ${VERSION_KEY.map((column) => `version.${column} = corrected.${column}`).join(" and ")}`,
        [bucket],
      );
      corrected += rowCount ?? 0;
    }
  }
  return corrected;
}

/** Swaps the rebuilt tables in and moves the former ones to schema `keptAs`; with `keepsLedger`, ledger tables are not swapped. */
export async function swapStateSchema(
  client: pg.ClientBase,
  rebuilt: string,
  keptAs: string,
  keepsLedger: boolean,
): Promise<void> {
  await client.query(`create schema ${checked(keptAs)}`);
  for (const table of STATE_TABLES) {
    if (keepsLedger && LEDGER_TABLES.includes(table)) {
      await client.query(`drop table ${checked(rebuilt)}.${table}`);
      continue;
    }
    await move(client, await readWindowedTables(client, STATE_SCHEMA), STATE_SCHEMA, table, keptAs);
    await move(client, await readWindowedTables(client, rebuilt), checked(rebuilt), table, STATE_SCHEMA);
  }
  await client.query(`drop schema ${rebuilt}`);
}

async function move(
  client: pg.ClientBase,
  windowed: ReadonlyMap<string, readonly { readonly name: string }[]>,
  from: string,
  table: string,
  to: string,
): Promise<void> {
  for (const name of [table, ...(windowed.get(table)?.map((window) => window.name) ?? [])])
    await client.query(`alter table ${from}.${name} set schema ${to}`);
}

/** A view that reads a table of a former state. */
interface BoundView {
  readonly name: string;
  readonly kept_schema: string;
  readonly mine: boolean;
  readonly options: string | null;
}

/** Views that read a table of the same name as a state table, in another `bellhop_` schema. */
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
 * Rebinds views to the state tables after a swap, because views bind to tables, not names. `create or replace` keeps grants and
 * dependent views. Returns the views of other roles, which this one may not replace.
 */
export async function rebindViews(client: pg.ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<BoundView>(FIND_BOUND_VIEWS, [STATE_SCHEMA]);
  const before = await client.query<{ search_path: string }>(
    "select current_setting('search_path') as search_path",
  );
  for (const view of rows.filter(({ mine }) => mine)) {
    // pg_get_viewdef omits schemas on the search path: with the former schema on it the table names are unqualified, and
    // then resolve to the state schema.
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
