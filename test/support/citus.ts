import pg from "pg";
import { ALL_BUCKETS } from "../../src/ingest/log/part-name.ts";
import { ShardMap } from "../../src/platform/db/citus/shard-groups.ts";
import { findHomes, type Home } from "../../src/platform/db/citus/workers.ts";
import { clientConfig, withSession } from "../../src/platform/db/connection.ts";
import { distributeByBucket } from "../../src/platform/db/distribute.ts";
import { isDistributed } from "../../src/platform/db/distribution.ts";
import type { Queryable } from "../../src/platform/db/transaction.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";

/** Few, as most tests write a handful of rows, and each shard of a table is one more table to be made. */
const SHARDS = 4;

/** Test files that do not run on Citus, and why; `npm test` says so. */
export const NOT_ON_CITUS: Readonly<Record<string, string>> = {
  "test/apply/held-snapshot.test.ts": "it looks into plans of statements that Citus has others for",
};

export interface CitusNode {
  readonly groupid: number;
  readonly nodename: string;
  readonly nodeport: number;
}

/** The server of the tests as a coordinator of Citus: its nodes, each by the address of any database on it. */
export interface CitusServer {
  readonly coordinator: CitusNode;
  readonly workers: readonly CitusNode[];
  /** The addresses of the workers; roles, passwords and the rest as at the coordinator. */
  readonly workerUrls: readonly string[];
}

/** What the database that the address names knows of Citus; undefined when it has no extension or no workers. */
export async function findCitus(serverUrl: string): Promise<CitusServer | undefined> {
  return await withPool(serverUrl, async (pool) => {
    const extension = await pool.query("select 1 from pg_extension where extname = 'citus'");
    if (extension.rowCount === 0) return undefined;
    const { rows } = await pool.query<CitusNode>(
      "select groupid, nodename, nodeport from pg_dist_node where noderole = 'primary' and isactive order by nodeid",
    );
    const coordinator = rows.find(({ groupid }) => groupid === 0);
    const workers = rows.filter(({ groupid }) => groupid !== 0);
    if (coordinator === undefined || workers.length === 0) return undefined;
    const workerUrls = workers.map(({ nodename, nodeport }) => {
      const url = new URL(serverUrl);
      url.hostname = nodename;
      url.port = String(nodeport);
      return url.href;
    });
    return { coordinator, workers, workerUrls };
  });
}

/** Makes a migrated database, which has one of the same name on every worker, one of Citus, and distributes it. */
export async function distributeTestDatabase(
  { coordinator, workers, workerUrls }: CitusServer,
  database: (serverUrl: string) => string,
  serverUrl: string,
): Promise<void> {
  await joinTestDatabase({ coordinator, workers, workerUrls }, database, serverUrl);
  await distributeTables(clientConfig({ connectionString: database(serverUrl) }));
}

/** As `bellhop citus distribute`. */
export async function distributeTables(config: pg.ClientConfig): Promise<void> {
  const log = createLogger({ level: "silent", pretty: false });
  await withSession(config, "distribute", (client) =>
    distributeByBucket(client, { shards: SHARDS, dryRun: false, log }),
  );
}

/** What an operator does before `bellhop citus distribute`: the extension on every node, the workers but `spare` ones at the coordinator. */
export async function joinTestDatabase(
  { coordinator, workers, workerUrls }: CitusServer,
  database: (serverUrl: string) => string,
  serverUrl: string,
  spare: readonly CitusNode[] = [],
): Promise<void> {
  for (const url of [serverUrl, ...workerUrls])
    await withPool(database(url), (pool) => pool.query("create extension citus"));
  await withPool(database(serverUrl), async (pool) => {
    await pool.query("select citus_set_coordinator_host($1, $2)", [
      coordinator.nodename,
      coordinator.nodeport,
    ]);
    for (const { nodename, nodeport } of workers.filter((worker) => !spare.includes(worker)))
      await pool.query("select citus_add_node($1, $2)", [nodename, nodeport]);
  });
}

/** How many buckets each server has, whose appliers share them: on Citus a worker, elsewhere one has all. */
export async function bucketsOfServers(on: Queryable): Promise<readonly number[]> {
  if (!(await isDistributed(on))) return [ALL_BUCKETS.length];
  const { rows } = await on.query<Home>(findHomes);
  return rows.map(({ buckets }) => buckets.length);
}

/** The buckets that an apply transaction may have beside this one: on Citus those of its shard group, elsewhere all. */
export async function bucketsBeside(
  { pool, clientConfig }: { readonly pool: Queryable; readonly clientConfig: pg.ClientConfig },
  bucket: number,
): Promise<readonly number[]> {
  if (!(await isDistributed(pool))) return ALL_BUCKETS;
  return (await ShardMap.draw(clientConfig)).placeOf(bucket)?.group.buckets ?? [];
}

/** What test runs are on, in words. */
export async function describeServer(serverUrl: string): Promise<string> {
  const { rows } = await withPool(serverUrl, (pool) =>
    pool.query<{ server: string; citus: string | null }>(
      `select current_setting('server_version') as server,
        (select extversion from pg_extension where extname = 'citus') as citus`,
    ),
  );
  const found = await findCitus(serverUrl);
  const server = `PostgreSQL ${rows[0]?.server}`;
  if (found === undefined) return `Tests run on ${server}, not on Citus.`;
  return `Tests run on Citus ${rows[0]?.citus} of ${server} with ${found.workers.length} workers: each test database is distributed, those that tests make empty are not.`;
}

/**
 * What is set for a database is not cloned with it. The unsafe triggers are those of tests, which have a table refuse a
 * row; the service has none.
 */
export async function prepareClone(database: string, on: pg.ClientBase): Promise<void> {
  for (const setting of ["timezone = 'UTC'", "datestyle = 'ISO'", "citus.enable_unsafe_triggers = on"])
    await on.query(`alter database ${database} set ${setting}`);
}

async function withPool<Result>(url: string, use: (pool: pg.Pool) => Promise<Result>): Promise<Result> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}
