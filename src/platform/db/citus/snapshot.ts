import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { OperatorError } from "../../errors/operator-error.ts";
import { sqlState } from "../database-errors.ts";
import type { Queryable } from "../transaction.ts";
import { lockAtWorkers, readPlacement } from "./windows.ts";

const LOCK_NOT_AVAILABLE = "55P03";
/** Shared by every flush of a log writer at a worker, beside `hold_shard`, which would have it refused instead of waiting. */
const FLUSH_LOCK = 7_302_008;
/** What a flush at the worker that has the shard $3 is subject to. */
export const MAY_FLUSH = `(select bellhop.hold_shard($3::bigint)) and (select pg_advisory_xact_lock_shared(${FLUSH_LOCK})) is not null`;
/** Flushes queue behind a lock that is waited for. */
const WAIT_MS_MAX = 100;
const TRIES_MAX = 60;
const PAUSE_MS = 250;

/**
 * One connection to each worker, where the limit of waiting holds, too. Then the tables of workers that transactions write to
 * which write to another server as well (batches of several buckets, and messages).
 */
const HOLD_OFF_WRITERS = [
  "begin",
  "set local citus.max_adaptive_executor_pool_size = 1",
  "set local citus.propagate_set_commands = 'local'",
  `set local lock_timeout = ${WAIT_MS_MAX}`,
  "lock table bellhop.accept_log, bellhop.applied_part in share mode",
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
    const places = await readPlacement(holder);
    await begin();
    await client.query("select count(*) from bellhop.bucket_lease");
    return places;
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
      // Rows of log writers at workers name others of the coordinator. An applier's are of its own bucket alone.
      await lockAtWorkers(holder, FLUSH_LOCK);
      if ((await holder.query(FIND_PREPARED)).rowCount === 0) return await work();
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    } finally {
      await holder.query("rollback");
    }
    await delay(PAUSE_MS);
  }
  throw new OperatorError(
    "A worker of Citus has prepared transactions, or one that has been open for long: see bellhop doctor.",
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
