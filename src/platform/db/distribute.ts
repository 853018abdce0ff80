import type pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import type { Logger } from "../telemetry/log.ts";
import { makeRelations } from "./analytics/make-relations.ts";
import { FIRST_TABLE, placeTable } from "./citus/place.ts";
import { durabilityGapsOf, readWorkers } from "./citus/workers.ts";
import { CODE_VERSION } from "./code-version.ts";
import { holdingStarts } from "./migrate.ts";
import { type Queryable, withTransaction } from "./transaction.ts";

/** SQLSTATE of a transaction that names a shard that was moved. */
export const SHARD_MOVED = "BH001";

/**
 * What every transaction that names a shard begins with (docs/decisions/0011). It shares the lock that Citus takes alone while it
 * copies the last of a shard, and then sees that the shard is still there: each statement of a volatile function has a snapshot of
 * its own, so that the second sees what the first has waited for.
 */
const HOLD_SHARD = `
  create or replace function bellhop.hold_shard(shard bigint) returns boolean
  language plpgsql volatile set lock_timeout = '10ms' as $body$
  begin
    perform lock_shard_metadata(5, array[shard]);
    if not exists (
      select from pg_dist_placement join pg_dist_local_group using (groupid) where shardid = shard
    ) then
      raise exception 'Shard % lies elsewhere.', shard using errcode = '${SHARD_MOVED}';
    end if;
    return true;
  end
  $body$`;

/** The first bucket of each batch that a key was used for. */
const BUCKET_OF_KEYED = `
  select request_id, min(bucket) as bucket from bellhop.accept_log
  where request_id >= (select request_id from bellhop.idempotency_key order by request_id limit 1)
  group by request_id`;

/** Keys lie with the first bucket of their batch. On tables that are distributed it changes nothing. */
const PLACE_KEYS = `
  update bellhop.idempotency_key as held set bucket = log.bucket
  from (${BUCKET_OF_KEYED}) as log
  where log.request_id = held.request_id and held.bucket = 0`;

/** The keys of one PostgreSQL as they lie on Citus, to be read as a table. */
export const PLACED_KEYS = `(
  select held.client_id, held.key, held.request_id, held.fingerprint, held.created_at, coalesce(log.bucket, held.bucket) as bucket
  from bellhop.idempotency_key as held left join (${BUCKET_OF_KEYED}) as log using (request_id)
) as idempotency_key`;

/** The keys of Citus as they lie on one PostgreSQL; where several batches have one, its first. */
export const GATHERED_KEYS = `(
  select distinct on (client_id, key) client_id, key, request_id, fingerprint, created_at, 0::smallint as bucket
  from bellhop.idempotency_key order by client_id, key, created_at, request_id
) as idempotency_key`;

/** Whether a server has a session; asked of each worker about the leases that lie there. */
const IS_SESSION = `
  create or replace function bellhop.is_session(backend integer, start timestamptz) returns boolean
  language plpgsql stable as $body$
  begin
    return exists (select from pg_stat_activity where pid = backend and coalesce(backend_start, start) = start);
  end
  $body$`;

async function createFunctions(client: pg.ClientBase): Promise<void> {
  await client.query(HOLD_SHARD);
  await client.query(IS_SESSION);
  for (const made of ["hold_shard(bigint)", "is_session(integer, timestamptz)"])
    await client.query("select create_distributed_function($1::text::regprocedure)", [`bellhop.${made}`]);
}

/** The database cannot be distributed; the message gives the reason and the remedy. */
class DistributionError extends OperatorError {}

/**
 * What lies in a bucket, in the order in which it is distributed: each row on the worker that has its bucket, all tables
 * alike. What stays on the coordinator is small, or asked by other things than a bucket; distribute.test.ts lists it.
 */
export const DISTRIBUTED_TABLES = [
  FIRST_TABLE,
  "bellhop.bucket_closed_timestamp",
  "bellhop.change_counter",
  "bellhop.accept_log",
  "bellhop.idempotency_key",
  "bellhop.request_outcome",
  "bellhop.quarantine",
  "bellhop.feed_arrival",
  "bellhop.applied_part",
  "bellhop.applied_piece",
  "bellhop_state.apply_cursor",
  "bellhop_state.current_record",
  "bellhop_state.inventory_version",
  "bellhop_state.reservation_version",
  "bellhop_state.group_version",
  "bellhop_state.known_room_type",
  "bellhop_state.night_entry",
  "bellhop_state.ledger_delta",
  "bellhop_state.block_entry",
  "bellhop_state.night_dimension",
  "bellhop_state.released_copy",
  "bellhop_state.ledger_segment",
  "bellhop_state.ledger_segment_progress",
  "bellhop_state.known_books",
] as const;

export interface DistributionStep {
  readonly table: string;
  readonly done: boolean;
  /** Bytes on the coordinator now, which are copied to the workers. */
  readonly bytes: number;
}

export interface DistributionReport {
  readonly workers: readonly string[];
  readonly shards: number;
  readonly steps: readonly DistributionStep[];
  /** Whether anything was changed now. */
  readonly distributed: boolean;
}

export interface DistributionOptions {
  readonly shards: number;
  readonly dryRun: boolean;
  readonly log: Logger;
}

const WITHOUT_CITUS =
  "This database has no extension citus: add it to shared_preload_libraries of the coordinator and of every worker, run `create extension citus` in this database and in the one of the same name on every worker, then select citus_set_coordinator_host(…) and citus_add_node(…) on the coordinator (docs/scale.md).";

/**
 * Distributes the tables of the service by bucket over the workers of Citus, in one transaction, with what is in them;
 * then makes anew what analysts ask in another. Nothing is done to a table that is distributed already. Nodes that start meanwhile wait.
 * Throws DistributionError where it cannot be done.
 */
export async function distributeByBucket(
  client: pg.ClientBase,
  { shards, dryRun, log }: DistributionOptions,
): Promise<DistributionReport> {
  const workers = await checkCitus(client);
  return await holdingStarts(client, log, async () => {
    const report = await withTransaction(client, async () => {
      const steps = await readSteps(client);
      const missing = steps.filter(({ done }) => !done);
      if (!dryRun && missing.length > 0) {
        await refuseWhileUsed(client);
        await prepareWorkers(client);
        await client.query(PLACE_KEYS);
        for (const { table } of missing) await distributeTable(client, table, shards);
        // One that had just migrated when this began is there by now.
        await refuseWhileUsed(client);
      }
      return { workers, shards, steps, distributed: !dryRun && missing.length > 0 };
    });
    // Also of a database that is distributed: a later version may have made one of these anew.
    if (!dryRun) {
      await withTransaction(client, createFunctions);
      if (!(await withTransaction(client, () => makeRelations(client, CODE_VERSION, "onCitus"))))
        throw new DistributionError("The relations of analytics have more columns than this version has.");
    }
    return report;
  });
}

async function checkCitus(on: Queryable): Promise<string[]> {
  const extension = await on.query("select 1 from pg_extension where extname = 'citus'");
  if (extension.rowCount === 0) throw new DistributionError(WITHOUT_CITUS);
  const { rows } = await on.query<{ groupid: number }>("select groupid from pg_dist_local_group");
  if (rows[0]?.groupid !== 0)
    throw new DistributionError("DATABASE_URL names a worker of Citus: name the coordinator.");
  const able = await on.query(
    "select 1 from pg_dist_node where isactive and noderole = 'primary' and shouldhaveshards",
  );
  if (able.rowCount === 0) {
    throw new DistributionError(
      "Citus has no worker yet: select citus_add_node('host', port) on the coordinator, once for each.",
    );
  }
  const workers = await readWorkers(on);
  const gaps = workers.flatMap(durabilityGapsOf);
  if (gaps.length > 0) {
    throw new DistributionError(
      `An accepted batch could be lost on ${gaps.join(", ")}: switch it on there (server or database).`,
    );
  }
  const unable = workers.filter(({ settings }) => settings.max_prepared_transactions === "0");
  if (unable.length > 0) {
    throw new DistributionError(
      `A batch of several hotels is written in two phases: max_prepared_transactions is 0 on ${unable.map(({ name }) => name).join(", ")}.`,
    );
  }
  return workers.map(({ name }) => name);
}

/** Tables that should be distributed by bucket, but are not, in a distributed database. */
export async function findUndistributed(on: Queryable): Promise<string[]> {
  const { rows } = await on.query<{ name: string }>(
    `select name from unnest($1::text[]) as wanted (name)
    where not exists (select from pg_dist_partition where logicalrelid = to_regclass(wanted.name))`,
    [DISTRIBUTED_TABLES],
  );
  return rows.map(({ name }) => name);
}

async function readSteps(client: pg.ClientBase): Promise<DistributionStep[]> {
  const { rows } = await client.query<DistributionStep>(
    `select wanted.name as table, placed.logicalrelid is not null as done,
      (
        select coalesce(sum(pg_total_relation_size(relid)), 0)::float8
        from pg_partition_tree(wanted.name::regclass) where isleaf
      ) as bytes
    from unnest($1::text[]) with ordinality as wanted (name, place)
    left join pg_dist_partition as placed on placed.logicalrelid = wanted.name::regclass
    order by wanted.place`,
    [DISTRIBUTED_TABLES],
  );
  return rows;
}

/** Connected nodes have cached that the tables are not distributed, and would go on as if they were not. */
async function refuseWhileUsed(client: pg.ClientBase): Promise<void> {
  // A transaction sees the sessions that there were when it first asked.
  await client.query("select pg_stat_clear_snapshot()");
  const { rows } = await client.query<{ names: string | null }>(
    `select string_agg(distinct present.owner, ', ') as names
    from bellhop.presence as present
    join pg_stat_activity as backend on backend.pid = present.backend_pid
      and coalesce(backend.backend_start, present.backend_start) = present.backend_start`,
  );
  const names = rows[0]?.names ?? null;
  if (names !== null)
    throw new DistributionError(
      `The service is running (${names}): stop every node, distribute, start again.`,
    );
}

/**
 * Statements are sent to workers as they are, and what they make of a time as text is to be the same everywhere. Citus
 * hands what is set for a database on to the workers.
 */
async function prepareWorkers(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>("select quote_ident(current_database()) as name");
  for (const setting of ["timezone = 'UTC'", "datestyle = 'ISO'"])
    await client.query(`alter database ${rows[0]?.name} set ${setting}`);
}

async function distributeTable(client: pg.ClientBase, table: string, shards: number): Promise<void> {
  await placeTable(client, table, table === FIRST_TABLE ? shards : undefined);
  await client.query("select truncate_local_data_after_distributing_table($1::regclass)", [table]);
}
