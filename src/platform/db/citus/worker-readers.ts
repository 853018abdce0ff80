import pg from "pg";
import { monotonicNow } from "../../runtime/shared-memory.ts";
import { namedStatement, readStatement } from "../statement.ts";
import { SHORT } from "./workers.ts";

/** Which buckets have something to apply. */
export const findBacklog = readStatement(new URL("./find-backlog.sql", import.meta.url));

/** The shards of the tables that find-backlog reads, by worker, as the coordinator knows them. */
const findShards = namedStatement(
  "find-shards",
  `select home.nodename as host, home.nodeport as port, array_agg(array[shard.lease, shard.log, shard.cursor]::text[] order by shard.lease) as shards
  from (
    select distinct
      get_shard_id_for_distribution_column('bellhop.bucket_lease', bucket::smallint) as lease,
      get_shard_id_for_distribution_column('bellhop.accept_log', bucket::smallint) as log,
      get_shard_id_for_distribution_column('bellhop_state.apply_cursor', bucket::smallint) as cursor
    from generate_series(0, 63) as bucket
  ) as shard
  join pg_dist_shard_placement as home on home.shardid = shard.lease
  group by host, port
  order by host, port`,
);

interface WorkerShards {
  readonly host: string;
  readonly port: number;
  /** Of bucket_lease, accept_log and apply_cursor. */
  readonly shards: readonly (readonly [string, string, string])[];
}

interface WaitingBucket {
  readonly bucket: number;
  readonly first: string;
  readonly yields: boolean;
}

/** A shard that has moved is read where it was for so long at most: what came since is found that much later. */
const LOOK_MS = 1_000;
/** A worker that cannot be asked from here is left to the coordinator for so long. */
const PAUSE_MS = 30_000;
const ANSWER_MS_MAX = 2_000;
/** Longer than appliers wait between two polls; a session that nobody uses ends. */
const IDLE_MS = 2_000;
/** The plan holds for all buckets, and would otherwise be made anew for each of the first questions. */
const OPTIONS = `-c jit=off -c enable_seqscan=off -c plan_cache_mode=force_generic_plan -c statement_timeout=${ANSWER_MS_MAX}`;

/**
 * Which buckets have something to apply, asked of the workers themselves by sessions of the service. Citus has each shard plan the
 * statement at each poll (96 ms of CPU for 32 shards); here it names the shards, and a worker plans it once a session.
 * Only hints are read so: what is applied goes through the coordinator, which knows of a shard that is just being moved.
 */
export class WorkerReaders {
  #known = "";
  #pools: readonly { readonly pool: pg.Pool; readonly text: string }[] = [];
  #lookAt = 0;
  #askAt = 0;

  /** As find-backlog, with its parameters; undefined where the coordinator is to be asked. */
  async find(client: pg.ClientBase, values: readonly unknown[]): Promise<readonly number[] | undefined> {
    if (monotonicNow() < this.#askAt) return undefined;
    await this.#follow(client);
    try {
      const answers = await Promise.all(
        this.#pools.map(({ pool, text }) =>
          pool.query<WaitingBucket>({ name: findBacklog.name, text, values: [...values] }),
        ),
      );
      return answers
        .flatMap(({ rows }) => rows)
        .sort((left, right) =>
          left.yields === right.yields
            ? Number(left.first > right.first) - Number(left.first < right.first)
            : Number(left.yields) - Number(right.yields),
        )
        .map(({ bucket }) => bucket);
    } catch {
      // Down, no longer the home of a shard, or closed to this machine: the coordinator says what of it.
      this.#askAt = monotonicNow() + PAUSE_MS;
      this.#lookAt = 0;
      return undefined;
    }
  }

  async #follow(client: pg.ClientBase): Promise<void> {
    if (monotonicNow() < this.#lookAt) return;
    this.#lookAt = monotonicNow() + LOOK_MS;
    const { rows: workers } = await client.query<WorkerShards>({ ...findShards, ...SHORT });
    const known = JSON.stringify(workers);
    if (known === this.#known) return;
    const former = this.#pools;
    this.#known = known;
    this.#pools = workers.map(({ host, port, shards }) => ({
      pool: openPool(client as pg.Client, host, port),
      text: shards.map((shard) => `(${ofShard(shard)})`).join(" union all "),
    }));
    for (const { pool } of former) void pool.end().catch(() => undefined);
  }
}

function ofShard([lease, log, cursor]: readonly [string, string, string]): string {
  return findBacklog.text
    .replaceAll("bellhop.bucket_lease", `$&_${lease}`)
    .replaceAll("bellhop.accept_log", `$&_${log}`)
    .replaceAll("bellhop_state.apply_cursor", `$&_${cursor}`);
}

/** As the session of the coordinator, at the worker. */
function openPool({ user, password, database, ssl }: pg.Client, host: string, port: number): pg.Pool {
  const pool = new pg.Pool({
    host,
    port,
    ssl,
    application_name: "bellhop find",
    options: OPTIONS,
    query_timeout: ANSWER_MS_MAX,
    connectionTimeoutMillis: ANSWER_MS_MAX,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    max: 1,
    ...(user === undefined ? {} : { user }),
    ...(database === undefined ? {} : { database }),
    ...(password === undefined || password === null ? {} : { password }),
  });
  // The next question fails, too.
  pool.on("error", () => undefined);
  return pool;
}
