import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";

/** Row statistics of a table with all its partitions. */
export interface TableRows {
  readonly table: string;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Row versions that no transaction can see, or only a held snapshot. */
  readonly dead: number;
  readonly bytes: number;
}

const ROWS = `select coalesce(parent.relname, stat.relname)::text as table, sum(n_tup_ins)::float8 as inserted,
    sum(n_tup_upd)::float8 as updated, sum(n_tup_del)::float8 as deleted, sum(n_dead_tup)::float8 as dead,
    sum(pg_total_relation_size(stat.relid))::float8 as bytes
  from pg_stat_user_tables as stat
  left join pg_inherits as link on link.inhrelid = stat.relid
  left join pg_class as parent on parent.oid = link.inhparent
  where stat.schemaname in ('bellhop', 'bellhop_state')
  group by 1
  having sum(n_tup_ins + n_tup_upd + n_tup_del) > 0
  order by dead desc, inserted desc`;

export async function tableRows(client: pg.ClientBase): Promise<TableRows[]> {
  return (await client.query<TableRows>(ROWS)).rows;
}

/** Sessions report statistics after ten idle seconds. */
const STATISTICS_MS = 12_000;

/** pgstattuple reads whole tables and counts replaced, deleted and rolled-back rows that are still stored. */
const COUNTED = `select coalesce(parent.relname, own.relname)::text as table, sum(counted.dead_tuple_count)::float8 as dead
  from pg_class as own
  left join pg_inherits as link on link.inhrelid = own.oid
  left join pg_class as parent on parent.oid = link.inhparent
  cross join lateral public.pgstattuple(own.oid) as counted
  where own.relkind = 'r' and own.relnamespace in ('bellhop'::regnamespace, 'bellhop_state'::regnamespace)
  group by 1`;

/**
 * Statistics with exactly counted dead rows, because statistics are estimates that count changes during a vacuum twice.
 * Changes are read last, so that they are not too low.
 */
export async function countedRows(superuser: pg.ClientBase): Promise<TableRows[]> {
  await superuser.query("create extension if not exists pgstattuple schema public");
  const { rows: counted } = await superuser.query<{ table: string; dead: number }>(COUNTED);
  await delay(STATISTICS_MS);
  const rows = await tableRows(superuser);
  const dead = new Map(counted.map((row) => [row.table, row.dead]));
  return rows.map((row) => ({ ...row, dead: dead.get(row.table) ?? 0 }));
}

/** Insert-only tables, in which no row may die. */
const INSERT_ONLY = [
  "accept_log",
  "request_outcome",
  "reservation_version",
  "inventory_version",
  "group_version",
];

/** Problems with the dead rows since `before`, as sentences. */
export function deadRowProblems(before: readonly TableRows[], after: readonly TableRows[]): string[] {
  return after.flatMap(({ table, dead, updated, deleted }) => {
    const was = before.find((row) => row.table === table);
    const died = dead - (was?.dead ?? 0);
    if (INSERT_ONLY.includes(table)) return dead > 0 ? [`${table} has ${dead} dead rows`] : [];
    const changes = updated + deleted - (was?.updated ?? 0) - (was?.deleted ?? 0);
    return died > changes ? [`${table} has ${died} dead rows more, of ${changes} changes`] : [];
  });
}

export function deadRowLines(rows: readonly TableRows[]): string[] {
  return [
    "  table                     inserted    updated    deleted       dead         MB",
    ...rows.map(
      ({ table, inserted, updated, deleted, dead, bytes }) =>
        `  ${table.padEnd(22)} ${[inserted, updated, deleted, dead].map((count) => String(count).padStart(10)).join(" ")} ${(bytes / 1e6).toFixed(1).padStart(10)}`,
    ),
  ];
}
