import { namedStatement } from "../statement.ts";
import type { Queryable } from "../transaction.ts";

/** Answers the homes of all buckets. */
export const findHomes = namedStatement(
  "find-homes",
  `-- Which buckets lie on which worker, as the coordinator knows it: no worker is asked.
  with shard as materialized (
    select bucket, get_shard_id_for_distribution_column('bellhop.bucket_lease', bucket::smallint) as shardid
    from generate_series(0, 63) as bucket
  )
  select home.nodename || ':' || home.nodeport as worker, array_agg(shard.bucket) as buckets
  from shard
  join pg_dist_shard_placement as home on home.shardid = shard.shardid
  group by worker
  order by worker`,
);

/**
 * When the coordinator gives up a query over workers. A worker that is down refuses at once; this limits the wait for
 * one that hangs. A busy machine may take seconds anyway.
 */
export const WORKERS_ANSWER_MS_MAX = 5_000;

/** When the coordinator gives up connecting to a worker where others wait for that: it goes on without it. */
export const CONNECT_MS_MAX = 1_000;

/** A worker (`host:port`) and the buckets that lie there. */
export interface Home {
  readonly worker: string;
  readonly buckets: readonly number[];
}

/** What of a worker's settings the guarantees rest on, and what is wrong with them; no problem, no word. */
interface WorkerAnswer {
  readonly nodename: string;
  readonly nodeport: number;
  readonly success: boolean;
  readonly result: string;
}

const ASK_WORKERS = `
  select node.nodename, node.nodeport, answer.success, answer.result
  from run_command_on_workers($1) as answer join pg_dist_node as node using (nodename, nodeport)
  where node.noderole = 'primary'
  order by nodename, nodeport`;

const SETTINGS = `select json_object_agg(name, setting) from pg_settings where name in
  ('fsync', 'full_page_writes', 'synchronous_commit', 'max_prepared_transactions', 'TimeZone')`;

type WorkerSettings = Readonly<
  Record<
    "fsync" | "full_page_writes" | "synchronous_commit" | "max_prepared_transactions" | "TimeZone",
    string
  >
>;

/** A worker of Citus and what its sessions are set to, as one that the coordinator opens sees it. */
export interface Worker {
  /** `host:port`. */
  readonly name: string;
  readonly settings: WorkerSettings;
}

/** What a worker answered to a statement; without `rows` it could not be asked, and `failure` says why. */
export interface WorkerRows {
  readonly worker: string;
  readonly rows?: readonly object[];
  readonly failure?: string;
}

/** Asks every worker a statement whose parameters, if any, are numbers. */
export async function askWorkers(
  on: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<WorkerRows[]> {
  const filled = text.replaceAll(/\$(\d+)/g, (_, place) => String(Number(values[Number(place) - 1])));
  const { rows } = await on.query<WorkerAnswer>(ASK_WORKERS, [
    `select coalesce(json_agg(answer), '[]') from (\n${filled}\n) as answer`,
  ]);
  return rows.map(({ nodename, nodeport, success, result }) => {
    const worker = `${nodename}:${nodeport}`;
    return success ? { worker, rows: JSON.parse(result) as object[] } : { worker, failure: result };
  });
}

/** Which share of the data each worker has, and which version of Citus runs there. */
export const describeWorkers = `
  select node.nodename || ':' || node.nodeport as worker, node.isactive and node.metadatasynced as "isReady",
    node.shouldhaveshards as "takesBuckets", case when answer.success then answer.result::json end as found,
    (
      select count(*)::integer from pg_dist_placement join pg_dist_shard using (shardid)
      where groupid = node.groupid and logicalrelid = 'bellhop.bucket_lease'::regclass
    ) as shards
  from run_command_on_workers(
    'select json_build_object(''bytes'', pg_database_size(current_database()), ''version'', extversion) from pg_extension where extname = ''citus'''
  ) as answer
  join pg_dist_node as node using (nodename, nodeport)
  where node.noderole = 'primary'
  order by node.nodename, node.nodeport`;

/** A worker as describeWorkers answers it. */
export interface WorkerDescription {
  readonly worker: string;
  readonly isReady: boolean;
  readonly takesBuckets: boolean;
  readonly found: { readonly bytes: number; readonly version: string } | null;
  readonly shards: number;
}

/** Asks every worker. One that could not be asked is left out where `skipsAway`; else throws its answer. */
export async function readWorkers(on: Queryable, skipsAway = false): Promise<Worker[]> {
  const { rows } = await on.query<WorkerAnswer>(ASK_WORKERS, [SETTINGS]);
  return rows.flatMap(({ nodename, nodeport, success, result }) => {
    const name = `${nodename}:${nodeport}`;
    if (!success && skipsAway) return [];
    if (!success) throw new Error(`The worker ${name} cannot be queried: ${result}`);
    return { name, settings: JSON.parse(result) as WorkerSettings };
  });
}

/**
 * Settings of a worker that let it acknowledge a commit that is not on its disk; empty if there are none.
 * `synchronous_commit` is read in the sessions that the coordinator opens.
 */
export function durabilityGapsOf({ name, settings }: Worker): string[] {
  const gaps = (["fsync", "full_page_writes"] as const).filter((setting) => settings[setting] !== "on");
  const isSynchronous = ["on", "remote_apply"].includes(settings.synchronous_commit);
  return [...gaps, ...(isSynchronous ? [] : [`synchronous_commit = ${settings.synchronous_commit}`])].map(
    (gap) => `${name}: ${gap}`,
  );
}
