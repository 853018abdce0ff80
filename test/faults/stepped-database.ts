import { withSuperuserOf } from "./database-of-service.ts";

/**
 * Names are looked up here before PostgreSQL's own: `clock_timestamp()` and the times in `pg_stat_activity` are then those of
 * a clock that was set. (Defaults of columns stay with the real one: who made what when is all they say.)
 */
export const STEPPED_PATH = "faults, pg_catalog, public";

/** Of the activity only what the time of a step bears on: since when a session is in its state. */
const SCHEMA = `
  create schema faults;
  create table faults.step (at timestamptz not null default pg_catalog.clock_timestamp(), shift interval not null);
  create function faults.shift_at(at timestamptz) returns interval language sql stable as $$
    select coalesce((select shift from faults.step where step.at <= shift_at.at order by step.at desc limit 1), '0')
  $$;
  create function faults.clock_timestamp() returns timestamptz language sql volatile as $$
    select now + faults.shift_at(now) from pg_catalog.clock_timestamp() as now
  $$;
  do $$ begin
    execute format('create view faults.pg_stat_activity as select %s from pg_catalog.pg_stat_activity', (
      select string_agg(
        case column_name when 'state_change' then 'state_change + faults.shift_at(state_change) as state_change'
        else quote_ident(column_name) end, ', ' order by ordinal_position)
      from information_schema.columns where table_schema = 'pg_catalog' and table_name = 'pg_stat_activity'));
  end $$;
  grant usage on schema faults to bellhop;
  grant select on all tables in schema faults to bellhop;
  alter role bellhop in database bellhop set search_path = ${STEPPED_PATH}`;

/** Gives the service's database, from its next sessions on, a clock that can be set (`stepDatabase`). */
export async function makeSteppable(dataDir: string): Promise<void> {
  await withSuperuserOf(dataDir, (pool) => pool.query(SCHEMA), "bellhop");
}

/** From now on the database's clock is off by so many milliseconds. */
export async function stepDatabase(dataDir: string, shiftMs: number): Promise<void> {
  await withSuperuserOf(
    dataDir,
    (pool) =>
      pool.query("insert into faults.step (shift) values (make_interval(secs => $1))", [shiftMs / 1_000]),
    "bellhop",
  );
}
