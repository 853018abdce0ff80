import type { Queryable } from "../transaction.ts";

/** What retention needs on Citus beyond its own statements: triggers and places are those of shards. */

/**
 * A trigger of the table itself would write to another distributed table from within a worker, which Citus does not support. Each shard
 * has one that writes to the shard of the same buckets beside it.
 */
const CREATE_TRIGGERS = `
  select success, result from run_command_on_colocated_placements($1::regclass, $2::regclass, format(
    'create trigger %I after insert or update on %%s for each row execute function bellhop.note_late_version(''%%s'')', $3::text))`;
/** The coordinator does not see triggers of shards; workers are asked for all of that name. */
const DROP_TRIGGERS = `
  select success, result from run_command_on_workers(format($command$
    do $$ declare noting record; begin
      for noting in select tgrelid::regclass as shard from pg_trigger where tgname = %1$L loop
        execute format('drop trigger %%I on %%s', %1$L, noting.shard);
      end loop;
    end $$$command$, $1::text))`;
const READ_PLACEMENT = `
  select string_agg(shardid || ' ' || groupid, ',' order by shardid, groupid) as placement
  from pg_dist_placement join pg_dist_shard using (shardid)
  where logicalrelid = 'bellhop.bucket_lease'::regclass`;
/** As an advisory lock of each worker, taken by the transaction's one session there. */
const LOCK_AT_WORKERS =
  "select count(*) from (select pg_advisory_xact_lock($1) from bellhop.bucket_lease) as taken";

async function runOnShards(on: Queryable, text: string, values: readonly unknown[]): Promise<void> {
  const { rows } = await on.query<{ success: boolean; result: string }>(text, [...values]);
  const failed = rows.find(({ success }) => !success);
  if (failed !== undefined) throw new Error(failed.result);
}

export async function createTriggersOnShards(
  on: Queryable,
  table: string,
  into: string,
  trigger: string,
): Promise<void> {
  await runOnShards(on, CREATE_TRIGGERS, [table, into, trigger]);
}

export function dropTriggersOnShards(on: Queryable, trigger: string): Promise<void> {
  return runOnShards(on, DROP_TRIGGERS, [trigger]);
}

export async function readPlacement(on: Queryable): Promise<string> {
  const { rows } = await on.query<{ placement: string }>(READ_PLACEMENT);
  return rows[0]?.placement ?? "";
}

export async function lockAtWorkers(on: Queryable, key: number): Promise<void> {
  await on.query(LOCK_AT_WORKERS, [key]);
}
