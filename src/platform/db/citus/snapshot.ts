import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { OperatorError } from "../../errors/operator-error.ts";
import { sqlState } from "../database-errors.ts";
import type { Queryable } from "../transaction.ts";
import { readPlacement } from "./windows.ts";

const LOCK_NOT_AVAILABLE = "55P03";
/** Flushes queue behind a lock that is waited for. */
const WAIT_MS_MAX = 100;
const TRIES_MAX = 60;
const PAUSE_MS = 250;

/**
 * One connection to each worker, where the limit of waiting holds, too. Then the tables of workers that transactions write to
 * which write to another server as well (batches of several buckets, and messages); and, as Citus takes it to move a shard, the lock that
 * log writers at the workers share, whose rows name others of the coordinator.
 */
const HOLD_OFF_WRITERS = [
  "begin",
  "set local citus.max_adaptive_executor_pool_size = 1",
  "set local citus.propagate_set_commands = 'local'",
  `set local lock_timeout = ${WAIT_MS_MAX}`,
  "lock table bellhop.accept_log, bellhop.applied_part in share mode",
  `select count(*) from (
    select lock_shard_metadata(7, shard.ids) from bellhop.bucket_lease
    cross join (select array_agg(shardid) as ids from pg_dist_shard where logicalrelid = 'bellhop.bucket_lease'::regclass) as shard
  ) as held`,
];
/** What was committed on the coordinator and is not to be seen at a worker yet. */
const FIND_PREPARED = `
  select from run_command_on_workers(
    'select count(*) from pg_prepared_xacts where database = current_database() and gid like ''citus%'''
  ) as answer where not answer.success or answer.result <> '0'`;

/**
 * Has `begin` open the client's transaction, of one connection to each worker, and takes its snapshots at all servers while nobody
 * writes to several: what each worker writes alone is whole in its own snapshot. Throws OperatorError where that cannot be had, and
 * where a shard was moved during `work`: its new place has another snapshot.
 */
export async function inSnapshotOfAll<Result>(
  client: pg.ClientBase,
  holder: pg.ClientBase,
  begin: () => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  const placement = await whileWritersWait(holder, async () => {
    await begin();
    await client.query("select count(*) from bellhop.bucket_lease");
    return readPlacement(holder);
  });
  const result = await work();
  if ((await readPlacement(holder)) === placement) return result;
  throw new OperatorError(
    "Citus moved shards meanwhile. Try again when citus_rebalance_status() shows none.",
  );
}

/** Runs `work` at a moment when what is committed is to be seen at every server, and holds off those who write to several. */
async function whileWritersWait<Result>(holder: pg.ClientBase, work: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    try {
      for (const statement of HOLD_OFF_WRITERS) await holder.query(statement);
      if ((await holder.query(FIND_PREPARED)).rowCount === 0) return await work();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    } finally {
      await holder.query("rollback");
    }
    await delay(PAUSE_MS);
  }
  throw new OperatorError(
    "A worker of Citus has transactions that are not committed there yet, or one that is open for long: see bellhop doctor.",
  );
}

/** As citus_create_restore_point, which alone holds off only those who write in two phases. Needs a superuser. */
export async function createRestorePointOfAll(
  on: Queryable,
  holder: pg.ClientBase,
  name: string,
): Promise<void> {
  await whileWritersWait(holder, () => on.query("select citus_create_restore_point($1)", [name]));
}
