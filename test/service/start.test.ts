import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readConfig } from "../../src/config.ts";
import { hasCluster } from "../../src/platform/db/embedded/home.ts";
import { findServer } from "../../src/platform/db/embedded/postmaster.ts";
import { MIGRATION_LOCK } from "../../src/platform/db/migrate.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { startService } from "../../src/service/service.ts";
import { clusterOf } from "../faults/database-of-service.ts";
import { ServiceProcess } from "../faults/service-process.ts";
import { createTestDatabase } from "../support/database.ts";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const silentLog = createLogger({ level: "silent", pretty: false });

/** Node reports here that a server listens, before anything else of the program hears of it. */
const LISTENING = "tracing:net.server.listen:asyncEnd";

async function ask(port: number): Promise<RawAnswer> {
  const connection = await RawConnection.open(`http://127.0.0.1:${port}`);
  connection.write(
    "GET /api/public/v1/requests HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a.b.c\r\nConnection: close\r\n\r\n",
  );
  const answer = await connection.answer();
  connection.destroy();
  return answer;
}

test("a request at the moment the service begins to listen knows the token issuer", async () => {
  for (const config of [{}, { authPort: 0 }]) {
    const answers: Promise<RawAnswer>[] = [];
    const onListening = (message: unknown) => {
      const { port } = (message as { server: Server }).server.address() as AddressInfo;
      answers.push(ask(port));
    };
    subscribe(LISTENING, onListening);
    const service = await startTestService(config).finally(() => unsubscribe(LISTENING, onListening));
    try {
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      // The token endpoint's own port serves no data: 404.
      assert.deepEqual(statuses, "authPort" in config ? [404, 403] : [403]);
    } finally {
      await service.stop();
    }
  }
});

/** Listens on a free port, and answers it. */
async function listenAnywhere(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("a limit of too few open files is reported, with what to raise it to", async () => {
  if (process.platform !== "linux") return;
  const dataDir = await temporaryDirectory("few-files");
  for (const limit of [64, 255]) {
    const limited = ["-c", `ulimit -n ${limit}; exec "$@"`, "sh", process.execPath, MAIN, "serve"];
    const env = { ...process.env, DATA_DIR: dataDir, PORT: "0" };
    await assert.rejects(
      promisify(execFile)("sh", limited, { env }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) =>
        code === 1 &&
        (stdout + stderr).includes(
          `may open ${limit} files, and the service needs at least 256: raise the limit to 4096`,
        ),
    );
  }
  assert.equal(await hasCluster(dataDir), false);
  await rm(dataDir, { recursive: true });
});

test("a port that is in use is reported before a database is made", async () => {
  const taken = createServer();
  const port = await listenAnywhere(taken);
  const dataDir = await temporaryDirectory("taken-port");
  const config = readConfig({ DATA_DIR: dataDir, PORT: String(port) });
  await assert.rejects(startService(config, silentLog), { code: "EADDRINUSE" });
  assert.equal(await hasCluster(dataDir), false);
  taken.close();
  await rm(dataDir, { recursive: true });
});

test("a start that fails at its last step, the port, leaves no session in the database", async () => {
  const database = await createTestDatabase();
  const taken = createServer();
  const port = await listenAnywhere(taken);
  taken.close();
  await once(taken, "close");
  // Whoever looks whether the port is free sees it free, and somebody takes it then.
  const onListening = (message: unknown) => {
    const { server } = message as { server: Server };
    if ((server.address() as AddressInfo).port !== port || server === taken) return;
    unsubscribe(LISTENING, onListening);
    server.once("close", () => taken.listen(port, "127.0.0.1"));
  };
  subscribe(LISTENING, onListening);
  await assert.rejects(startTestService({ port }, { database }), { code: "EADDRINUSE" });
  assert.equal(taken.listening, true);
  await until(async () => {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database()
        and application_name in ('bellhop accept', 'bellhop apply')`,
    );
    return rows.length === 0;
  }, 10_000);
  taken.close();
  await database.drop();
});

/** Sends SIGTERM, twice as a terminal and the launcher do, to a start that has come so far; it is not to finish. */
async function stopStart(
  service: ServiceProcess,
  isThere: (log: string) => boolean | Promise<boolean>,
): Promise<void> {
  const readLog = () => readFile(service.logPath, "utf8");
  service.start();
  await until(async () => await isThere(await readLog()), 60_000);
  let code: number | null | undefined;
  service.signal("SIGTERM");
  void service.end("SIGTERM").then((ending) => {
    code = ending;
  });
  await until(() => code !== undefined, 15_000);
  assert.equal(code, 0);
  assert.doesNotMatch(await readLog(), /listening/);
}

for (const held of [`select pg_advisory_lock(${MIGRATION_LOCK})`, "lock table bellhop_migration.applied"])
  test(`SIGTERM ends a start that waits for another session: ${held}`, async () => {
    const database = await createTestDatabase();
    const environment = { DATABASE_URL: database.url, LOG_LEVEL: "info" };
    const service = await ServiceProcess.prepare({ environment });
    const holder = await database.pool.connect();
    try {
      await holder.query("begin");
      await holder.query(held);
      await stopStart(service, async (log) => {
        const { rowCount } = await holder.query(
          "select from pg_locks where not granted and relation = 'bellhop_migration.applied'::regclass",
        );
        return rowCount === 1 || log.includes("waiting for another node that is migrating");
      });
    } finally {
      holder.release(true);
      await service.remove();
      await database.drop();
    }
  });

test("SIGTERM during the start of the embedded PostgreSQL stops that, too", async () => {
  const service = await ServiceProcess.prepare({ environment: { LOG_LEVEL: "info" } });
  try {
    await stopStart(service, (log) => log.includes("starting the embedded PostgreSQL"));
    assert.equal(await findServer(await clusterOf(service.dataDir)), undefined);
  } finally {
    await service.remove();
  }
});

test("a service whose compile cache was warmed compiles nothing, so that no thread loads the TypeScript compiler", async () => {
  const environment = { NODE_COMPILE_CACHE: await temporaryDirectory("compile-cache") };
  const cached = async () => (await readdir(environment.NODE_COMPILE_CACHE, { recursive: true })).sort();
  const script = fileURLToPath(new URL("../../bin/warm-compile-cache.mjs", import.meta.url));
  await promisify(execFile)(process.execPath, [script], { env: environment });
  const warmed = await cached();
  const service = await ServiceProcess.prepare({ environment });
  try {
    service.start();
    await service.untilReady(60_000);
    assert.equal(await service.end("SIGTERM"), 0);
    assert.ok(warmed.length > 0);
    assert.deepEqual(await cached(), warmed);
  } finally {
    await service.remove();
    await rm(environment.NODE_COMPILE_CACHE, { recursive: true });
  }
});
