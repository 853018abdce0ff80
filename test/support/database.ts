import { hash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import pg from "pg";
import { RELATIONS_HASH } from "../../src/platform/db/analytics/make-relations.ts";
import { clientConfig, createPool } from "../../src/platform/db/connection.ts";
import { sqlState } from "../../src/platform/db/database-errors.ts";
import { migrate, readMigrations } from "../../src/platform/db/migrate.ts";
import type { Database } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import {
  type CitusNode,
  type CitusServer,
  distributeTestDatabase,
  findCitus,
  joinTestDatabase,
  prepareClone,
} from "./citus.ts";
import { type DatabaseRoad, openRoad } from "./database-road.ts";
import { hasFailedTest } from "./failed-tests.ts";
import { startTestServer } from "./test-server.ts";
import { until } from "./until.ts";

/** A database of a test file's own: migrated, empty, and a Database like the service's. */
export interface TestDatabase extends Database {
  readonly name: string;
  /** As DATABASE_URL. */
  readonly url: string;
  /** Drops the database, unless a test of this file failed: then it is kept and its name is said. */
  drop(): Promise<void>;
}

const silentLog = createLogger({ level: "silent", pretty: false });

let ownServer: Promise<string> | undefined;

/** The server that all test databases are on: TEST_DATABASE_URL (npm test sets it), else one of this process's own. */
async function testServerUrl(): Promise<string> {
  const given = process.env["TEST_DATABASE_URL"];
  if (given !== undefined && given !== "") return given;
  ownServer ??= startOwnServer();
  return await ownServer;
}

async function startOwnServer(): Promise<string> {
  const { url, stop } = await startTestServer();
  // When nothing is left to do, which is after every hook of the file.
  process.once("beforeExit", () => void stop());
  return url;
}

/**
 * Makes a database for the calling test file, cloned from a template that the first caller migrates. Call `drop` in an
 * `after` hook.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = await testServerUrl();
  const name = `bellhop_test_${randomBytes(6).toString("hex")}`;
  const citus = await citusOf(serverUrl);
  const servers = [serverUrl, ...(citus?.workerUrls ?? [])];
  const template = await withClient(serverUrl, (client) => ensureTemplate(client, serverUrl, citus));
  for (const url of servers)
    await withClient(url, (client) => client.query(`create database ${name} template ${template}`));
  const url = withDatabase(serverUrl, name);
  if (citus !== undefined) await withClient(url, (client) => prepareClone(name, client));
  return openedDatabase(name, url, async () => {
    for (const server of servers) await dropDatabase(server, name);
  });
}

/** A database of its own like that, but without anything in it: another version is to migrate it, or a released one is to be loaded. */
export async function createEmptyTestDatabase(): Promise<TestDatabase> {
  const { url, drop } = await createEmptyDatabase();
  return openedDatabase(new URL(url).pathname.slice(1), url, drop);
}

function openedDatabase(name: string, url: string, remove: () => Promise<void>): TestDatabase {
  const session = { address: { connectionString: url }, synchronousCommit: "on" } as const;
  const config = clientConfig(session.address, session.synchronousCommit);
  const pool = createPool(config, silentLog, 10);
  // A test keeps its locks for as long as it needs them, however busy the machine is. (The options of an address win over others.)
  pool.on("connect", (client) => void client.query("set idle_in_transaction_session_timeout = 0"));
  const drop = async () => {
    await pool.end();
    if (hasFailedTest()) return console.error(`kept for a look: ${url}`);
    await remove();
  };
  return {
    name,
    url,
    pool,
    clientConfig: config,
    session,
    embedded: false,
    dataDirectory: undefined,
    close: drop,
    drop,
  };
}

/** A database that has the extension and workers of Citus, and is not migrated. */
export interface JoinedDatabase {
  readonly url: string;
  /** The ways by which the workers are joined, in their order; none where they are joined by their own addresses. */
  readonly roads: readonly DatabaseRoad[];
  /** Workers that have the database and the extension, and are not joined. */
  readonly spare: readonly CitusNode[];
  open(): TestDatabase;
  drop(): Promise<void>;
}

/**
 * A database as an operator leaves it before it is distributed, with all workers or so many; undefined where the tests are not on Citus.
 * `byRoad`: nodes reach the workers by roads, so that one can go away or hang for this database alone.
 */
export async function createJoinedDatabase({
  workersMax,
  byRoad = false,
}: {
  readonly workersMax?: number;
  readonly byRoad?: boolean;
} = {}): Promise<JoinedDatabase | undefined> {
  const serverUrl = await testServerUrl();
  const citus = await citusOf(serverUrl);
  if (citus === undefined) return undefined;
  const name = `bellhop_joined_${randomBytes(6).toString("hex")}`;
  const servers = [serverUrl, ...citus.workerUrls];
  for (const url of servers)
    await withClient(url, (client) => client.query(`create database ${name} template template0`));
  const roads = byRoad ? await Promise.all(citus.workerUrls.map(openRoad)) : [];
  const workers = citus.workers.map((worker, at) => ({
    ...worker,
    nodeport: roads[at]?.port ?? worker.nodeport,
  }));
  const spare = workers.slice(workersMax ?? workers.length);
  await joinTestDatabase({ ...citus, workers }, (url) => withDatabase(url, name), serverUrl, spare);
  const drop = async () => {
    for (const road of roads) await road.close();
    for (const url of servers) await dropDatabase(url, name);
  };
  const url = withDatabase(serverUrl, name);
  return { url, roads, spare, open: () => openedDatabase(name, url, drop), drop };
}

/** Whether the databases of tests are distributed. What is not done there is passed over with the reason (`t.skip`). */
export async function isOnCitus(): Promise<boolean> {
  return (await citusOf(await testServerUrl())) !== undefined;
}

/** The address of a database without anything in it, for tests of migration itself. */
export async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const serverUrl = await testServerUrl();
  const name = `bellhop_empty_${randomBytes(6).toString("hex")}`;
  await withClient(serverUrl, (client) => client.query(`create database ${name} template template0`));
  const drop = () => dropDatabase(serverUrl, name);
  return { url: withDatabase(serverUrl, name), drop };
}

/**
 * What a database that is dropped is refused for at one moment and not at the next: autovacuum's worker is the superuser's and
 * cannot be ended (insufficient_privilege), and Citus's own process may take a moment to end (object_in_use).
 */
const REFUSED_FOR_NOW: readonly unknown[] = ["42501", "55006"];

/** Ends the sessions of a database and drops it. */
async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    // Citus's own process opens sessions that would wait for the drop, which waits for that process.
    await client.query(`alter database ${name} allow_connections false`);
    await until(async () => {
      try {
        await client.query(`drop database ${name} with (force)`);
        return true;
      } catch (error) {
        if (!REFUSED_FOR_NOW.includes(sqlState(error))) throw error;
        return false;
      }
    }, 60_000);
  });
}

/** "bellhop test" in bytes: whoever makes the template holds this lock; the others wait for it. */
const TEMPLATE_LOCK = "27707136475952116";

let citusFound: Promise<CitusServer | undefined> | undefined;

function citusOf(serverUrl: string): Promise<CitusServer | undefined> {
  citusFound ??= findCitus(serverUrl);
  return citusFound;
}

async function ensureTemplate(
  client: pg.Client,
  serverUrl: string,
  citus: CitusServer | undefined,
): Promise<string> {
  const checksums = [...(await readMigrations()).map((migration) => migration.checksum), RELATIONS_HASH];
  if (citus !== undefined)
    for (const file of ["distribute.ts", "citus/place.ts", "citus/as-of-functions.ts"])
      checksums.push(
        hash("sha256", await readFile(new URL(`../../src/platform/db/${file}`, import.meta.url))),
      );
  // Named after its content: an edited migration makes another template. (A name is cut at 63 bytes.)
  const kind = citus === undefined ? "template" : "citus";
  const name = `bellhop_${kind}_${hash("sha256", checksums.join()).slice(0, 32)}`;
  await client.query(`select pg_advisory_lock(${TEMPLATE_LOCK})`);
  const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
  if (rowCount === 0) {
    await client.query(`drop database if exists ${name}_new with (force)`);
    await client.query(`create database ${name}_new template template0`);
    await migrate(
      clientConfig({ connectionString: withDatabase(serverUrl, `${name}_new`) }, "on"),
      silentLog,
    );
    if (citus !== undefined) await distributeTemplate(client, serverUrl, citus, `${name}_new`);
    await client.query(`alter database ${name}_new rename to ${name}`);
  }
  await client.query(`select pg_advisory_unlock(${TEMPLATE_LOCK})`);
  return name;
}

/**
 * The databases of one name on the coordinator and on every worker are cloned together, with all that Citus knows in each.
 * Nobody may be connected to what is cloned, and Citus keeps a process in every database that lets it in.
 */
async function distributeTemplate(
  client: pg.Client,
  serverUrl: string,
  citus: CitusServer,
  name: string,
): Promise<void> {
  for (const url of citus.workerUrls) {
    await withClient(url, async (worker) => {
      await worker.query(`drop database if exists ${name} with (force)`);
      await worker.query(`create database ${name} template template0`);
    });
  }
  await distributeTestDatabase(citus, (url) => withDatabase(url, name), serverUrl);
  const close = async (on: pg.Client) => {
    await on.query(`alter database ${name} with allow_connections false`);
    await until(async () => {
      const { rowCount } = await on.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
        [name],
      );
      return rowCount === 0;
    }, 30_000);
  };
  for (const url of citus.workerUrls) {
    await withClient(url, async (worker) => {
      await close(worker);
      await worker.query(`drop database if exists ${name.replace(/_new$/, "")} with (force)`);
      await worker.query(`alter database ${name} rename to ${name.replace(/_new$/, "")}`);
    });
  }
  await close(client);
}

async function withClient<Result>(url: string, use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(clientConfig({ connectionString: url }));
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.href;
}
