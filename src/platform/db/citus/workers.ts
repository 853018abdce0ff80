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
/** Statements that have little to do: one that is not answered by then was asked on a connection that leads nowhere. */
export const SHORT = { query_timeout: 10_000 } as const;

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

/** Asks every worker. Throws the answer of one that could not be asked. */
export async function readWorkers(on: Queryable): Promise<Worker[]> {
  const { rows } = await on.query<WorkerAnswer>(ASK_WORKERS, [SETTINGS]);
  return rows.map(({ nodename, nodeport, success, result }) => {
    const name = `${nodename}:${nodeport}`;
    if (!success) throw new Error(`The worker ${name} cannot be asked: ${result}`);
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
