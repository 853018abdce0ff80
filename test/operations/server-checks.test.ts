import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import pg from "pg";
import { readConfig } from "../../src/config.ts";
import { examine } from "../../src/operations/doctor/examine.ts";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { findBinaries } from "../../src/platform/db/embedded/binaries.ts";
import { prepareHome, spawnIdentity } from "../../src/platform/db/embedded/home.ts";
import { stopServer } from "../../src/platform/db/embedded/postmaster.ts";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded-postgres.ts";
import { checkServer, openDatabase } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { addressUrl, temporaryDirectory } from "../support/test-server.ts";
import { startTransactionPooler } from "../support/transaction-pooler.ts";

const log = createLogger({ level: "silent", pretty: false });

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const address = () => ({ connectionString: database.url });

async function setOfRole(setting: string): Promise<void> {
  await database.pool.query(`alter database ${database.name} ${setting}`);
}

test("a session commits durably although the database's own default is not to", async () => {
  await setOfRole("set synchronous_commit = off");
  assert.equal(await checkServer(address(), false, log), "on");
  const opened = await openDatabase(
    { databaseUrl: database.url, dataDir: "", allowUnsafeDurability: false },
    log,
  );
  for (const source of [opened.pool, new pg.Client(opened.clientConfig)]) {
    if (source instanceof pg.Client) await source.connect();
    const { rows } = await source.query("select current_setting('synchronous_commit') as level");
    assert.deepEqual(rows, [{ level: "on" }]);
    if (source instanceof pg.Client) await source.end();
  }
  await opened.close();
});

test("keeps a stronger setting of the database, remote_apply", async () => {
  await setOfRole("set synchronous_commit = remote_apply");
  assert.equal(await checkServer(address(), false, log), "remote_apply");
  await setOfRole("reset synchronous_commit");
});

test("keeps the options in DATABASE_URL beside the service's", async () => {
  const client = new pg.Client(
    clientConfig({ connectionString: `${database.url}?options=-c%20work_mem%3D5MB` }, "on"),
  );
  await client.connect();
  const { rows } = await client.query(
    "select current_setting('work_mem') as memory, current_setting('timezone') as zone",
  );
  assert.deepEqual(rows, [{ memory: "5MB", zone: "UTC" }]);
  await client.end();
});

test("a transaction pooler is refused with a clear message", async () => {
  const { hostname, port, username, password } = new URL(database.url);
  const pooler = await startTransactionPooler({ host: decodeURIComponent(hostname), port: Number(port) });
  const url = `postgresql://${username}:${password}@127.0.0.1:${pooler.port}/${database.name}`;
  // Single statements work through it, which is why nobody would notice by themselves.
  const client = new pg.Client(clientConfig({ connectionString: url }));
  await client.connect();
  assert.deepEqual((await client.query("select 1 as one")).rows, [{ one: 1 }]);
  await client.end();
  await assert.rejects(checkServer({ connectionString: url }, false, log), (error: Error) => {
    assert.match(error.message, /pooler in transaction mode/);
    return error.cause === undefined;
  });
  pooler.close();
});

test("a DATABASE_URL that is none is refused without repeating it", async () => {
  const config = { databaseUrl: "mysql://user:s3cret@host/db", dataDir: "", allowUnsafeDurability: false };
  await assert.rejects(openDatabase(config, log), (error: Error) => {
    assert.match(error.message, /DATABASE_URL must begin with postgresql:/);
    return !error.message.includes("s3cret");
  });
  for (const password of ["s3cret#", "s3cret/", "s3cret?", "s3cret%", "s3 cret"]) {
    const unescaped = { ...config, databaseUrl: `postgresql://user:${password}@127.0.0.1:1/db` };
    await assert.rejects(openDatabase(unescaped, log), /^Error: DATABASE_URL is no valid address: .*%23/);
  }
});

test("a server with fsync or full_page_writes off is refused by name, unless the operator vouches for its storage", async () => {
  const dataDir = await temporaryDirectory("unsafe");
  const embedded = await startEmbeddedPostgres(dataDir, "command", log);
  await embedded.close();
  const home = await prepareHome(dataDir);
  const { postgres } = await findBinaries(home.user, home.copiesDirectory);
  const settings = [
    "fsync=off",
    "full_page_writes=off",
    "listen_addresses=",
    `unix_socket_directories=${home.dataDirectory}`,
  ];
  const server = spawn(
    postgres,
    ["-D", home.dataDirectory, ...settings.flatMap((setting) => ["-c", setting])],
    {
      ...spawnIdentity(home.user),
      stdio: "ignore",
    },
  );
  const url = addressUrl(embedded.address);
  const open = (allowUnsafeDurability: boolean) =>
    openDatabase({ databaseUrl: url, dataDir, allowUnsafeDurability }, log);
  await assert.rejects(
    whenUp(() => open(false)),
    /fsync and full_page_writes off.*ALLOW_UNSAFE_DURABILITY/,
  );
  await (await open(true)).close();
  const findings = await examine({ readConfig: () => readConfig({ DATABASE_URL: url }), explain: String });
  const reported = findings.find(({ id }) => id === "database.durability");
  assert.deepEqual([reported?.severity, reported?.says], ["error", "fsync = off, full_page_writes = off."]);
  const exited = once(server, "exit");
  await stopServer(home.dataDirectory);
  await exited;
  await rm(dataDir, { recursive: true });
});

/** Tries until the server takes connections. */
async function whenUp<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const { code } = error as { code?: string };
      if (!["ENOENT", "ECONNREFUSED", "57P03"].includes(code ?? "") || Date.now() > deadline) throw error;
    }
  }
}
