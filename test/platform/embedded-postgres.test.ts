import assert from "node:assert/strict";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { after, afterEach, test } from "node:test";
import { clientConfig, withSession } from "../../src/platform/db/connection.ts";
import {
  findServer,
  processActivities,
  serverProcesses,
  stopServer,
} from "../../src/platform/db/embedded/postmaster.ts";
import { HeldDatabase } from "../support/held-database.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until, untilFound } from "../support/until.ts";

const dataDir = await temporaryDirectory("embedded");
const cluster = `${dataDir}/postgres`;
const holders: HeldDatabase[] = [];

function hold(role: "service" | "command" = "service"): HeldDatabase {
  const holder = new HeldDatabase(dataDir, role);
  holders.push(holder);
  return holder;
}

async function heldAndReady(role: "service" | "command" = "service"): Promise<HeldDatabase> {
  const holder = hold(role);
  const said = await holder.said();
  assert.equal(said.ready, true, said.refused);
  return holder;
}

async function postmaster(): Promise<number> {
  const server = await findServer(cluster);
  assert.ok(server, "a server runs on the directory");
  return server.pid;
}

/** A backend that is in the middle of a statement and does not look around, as one that is busy does. */
async function keepBackendBusy(holder: HeldDatabase): Promise<void> {
  holder.process.stdin?.write("select count(*) from generate_series(1, 1e12)\n");
  const observer = await heldAndReady("command");
  await observer.queryUntil(
    "select from pg_stat_activity where state = 'active' and query like '%1e12%' and pid <> pg_backend_pid()",
    (said) => said.rows?.length === 1,
    5_000,
  );
  await observer.kill("SIGTERM");
}

/** The process that replays the log, as soon as there is one. */
async function startupProcess(): Promise<number> {
  return await untilFound(async () => {
    const activities = await processActivities(cluster);
    const found = activities.find((line) => / postgres: .*: startup\b/.test(line));
    return found === undefined ? undefined : Number.parseInt(found, 10);
  });
}

const isBack = (said: { rows?: unknown[] }) => said.rows?.length === 1;

afterEach(async () => {
  for (const holder of holders.splice(0)) await holder.kill("SIGKILL");
});
after(async () => {
  await stopServer(cluster);
  await rm(dataDir, { recursive: true, force: true });
});

test("a clean stop leaves no process, and committed data is present at the next start", async () => {
  const first = await heldAndReady();
  await first.query("create table public.kept (n integer)");
  await first.query("insert into public.kept values (1)");
  await first.kill("SIGTERM");
  assert.deepEqual(await serverProcesses(cluster), []);
  const second = await heldAndReady();
  assert.deepEqual((await second.query("select n from public.kept")).rows, [{ n: 1 }]);
  await second.kill("SIGTERM");
});

test("durability is on and cannot be switched off by editing the server's configuration", async () => {
  const service = await heldAndReady();
  const { rows } = await service.query(
    "select name, setting, source from pg_settings where name in ('fsync', 'full_page_writes') order by name",
  );
  assert.deepEqual(rows, [
    { name: "fsync", setting: "on", source: "command line" },
    { name: "full_page_writes", setting: "on", source: "command line" },
  ]);
  await service.kill("SIGTERM");
});

test("a new file of the write-ahead log is small, as a commit waits until it is filled", async () => {
  const service = await heldAndReady();
  const { rows } = await service.query("select current_setting('wal_segment_size') as size");
  assert.deepEqual(rows, [{ size: "4MB" }]);
  await service.kill("SIGTERM");
});

test("the next start takes over the server of a killed service", async () => {
  const killed = await heldAndReady();
  const before = await postmaster();
  await killed.query("insert into public.kept values (2)");
  await killed.kill("SIGKILL");
  const next = await heldAndReady();
  assert.equal(await postmaster(), before);
  assert.deepEqual((await next.query("select max(n) as n from public.kept")).rows, [{ n: 2 }]);
  await next.kill("SIGTERM");
  assert.deepEqual(
    await serverProcesses(cluster),
    [],
    "also a server that was taken over is stopped at the end",
  );
});

test("a service whose PostgreSQL is killed with a busy backend has it back within 10 s", async () => {
  const service = await heldAndReady();
  await keepBackendBusy(service);
  const before = await postmaster();
  process.kill(before, "SIGKILL");
  // The busy statement's own answer, an error, comes first.
  assert.match((await service.said()).error ?? "", /./);
  await service.queryUntil("select 1 as one", isBack, 10_000);
  assert.notEqual(await postmaster(), before);
  await service.kill("SIGTERM");
});

test("a service whose PostgreSQL loses a backend has the database back within 10 s", async () => {
  const service = await heldAndReady();
  const { rows } = await service.query("select pg_backend_pid() as pid");
  process.kill(Number(rows?.[0]?.["pid"]), "SIGKILL");
  await service.queryUntil("select 1 as one", isBack, 10_000);
  await service.kill("SIGTERM");
});

test("a service whose PostgreSQL hangs in recovery restarts it, and nothing committed is lost", async () => {
  const service = await heldAndReady();
  const before = await postmaster();
  await service.query("create table public.replayed as select n from generate_series(1, 2e6) as n");
  const { rows } = await service.query("select pg_backend_pid() as pid");
  process.kill(Number(rows?.[0]?.["pid"]), "SIGKILL");
  process.kill(await startupProcess(), "SIGSTOP");
  await service.queryUntil("select 1 as one", isBack, 90_000);
  assert.notEqual(await postmaster(), before);
  assert.deepEqual((await service.query("select count(*)::int from public.replayed")).rows, [{ count: 2e6 }]);
  await service.kill("SIGTERM");
});

test("after service and PostgreSQL were killed together, beside a busy backend, the next start serves within 10 s", async () => {
  const killed = await heldAndReady();
  await keepBackendBusy(killed);
  // The backend outlives both: nothing supervises any more, and it is too busy to notice.
  killed.process.kill("SIGKILL");
  process.kill(await postmaster(), "SIGKILL");
  const startedAt = Date.now();
  const next = await heldAndReady();
  assert.equal(isBack(await next.query("select 1 as one")), true);
  assert.ok(Date.now() - startedAt < 10_000, `${Date.now() - startedAt} ms`);
  await next.kill("SIGTERM");
});

test("a second service on the directory is refused in one clear line, and of two that start at once one is", async () => {
  const [one, other] = [hold(), hold()];
  const said = await Promise.all([one.said(), other.said()]);
  assert.equal(said.filter(({ ready }) => ready === true).length, 1);
  const refusal = said.find(({ refused }) => refused !== undefined)?.refused ?? "";
  assert.equal(refusal, `Another Bellhop is running on ${dataDir}: stop it first, or set another DATA_DIR.`);
});

test("a killed service holds no lock: the next one starts at once", async () => {
  const killed = await heldAndReady();
  await killed.kill("SIGKILL");
  assert.equal((await hold().said()).ready, true);
});

test("a command beside the service uses its server and leaves it running", async () => {
  const service = await heldAndReady();
  const before = await postmaster();
  const command = await heldAndReady("command");
  await command.kill("SIGTERM");
  assert.equal(await postmaster(), before);
  assert.equal(isBack(await service.query("select 1 as one")), true);
  await service.kill("SIGTERM");
});

test("a command alone starts the server and stops it at its end", async () => {
  const command = await heldAndReady("command");
  assert.ok(await postmaster());
  await command.kill("SIGTERM");
  assert.deepEqual(await serverProcesses(cluster), []);
});

test("a service that starts during a command keeps the server when the command ends", async () => {
  const command = await heldAndReady("command");
  const before = await postmaster();
  const service = await heldAndReady();
  await command.kill("SIGTERM");
  assert.equal(await postmaster(), before);
  assert.equal(isBack(await service.query("select 1 as one")), true);
  await service.kill("SIGTERM");
});

test("a service that starts while a command stops the server gets a working one", async () => {
  const command = await heldAndReady("command");
  command.process.kill("SIGTERM");
  const service = await heldAndReady();
  assert.equal(isBack(await service.query("select 1 as one")), true);
  await service.kill("SIGTERM");
});

/** A server that cannot write the checkpoint of its shutdown, and so does not end by being asked. */
async function keepFromStopping(holder: HeldDatabase): Promise<void> {
  const { rows } = await holder.query("select pid from pg_stat_activity where backend_type = 'checkpointer'");
  process.kill(Number(rows?.[0]?.["pid"]), "SIGSTOP");
}

test("a server that hangs in its shutdown is ended, and nothing committed is lost", async () => {
  const service = await heldAndReady();
  await service.query("insert into public.kept values (3)");
  await keepFromStopping(service);
  await service.kill("SIGTERM");
  assert.deepEqual(await serverProcesses(cluster), []);
  const next = await heldAndReady();
  assert.deepEqual((await next.query("select max(n) as n from public.kept")).rows, [{ n: 3 }]);
  await next.kill("SIGTERM");
});

test("a server that hangs in an abandoned shutdown does not block the next start", async () => {
  const service = await heldAndReady();
  await keepFromStopping(service);
  await service.kill("SIGKILL");
  process.kill(await postmaster(), "SIGINT");
  const next = await heldAndReady();
  assert.equal(isBack(await next.query("select 1 as one")), true);
  await next.kill("SIGTERM");
});

test("the terminal's SIGINT to the service's whole process group does not stop PostgreSQL during the drain", async () => {
  const service = await heldAndReady();
  process.kill(-Number(service.process.pid), "SIGINT");
  assert.equal((await service.said()).interrupted, true);
  assert.equal(isBack(await service.query("select 1 as one")), true);
  await service.kill("SIGTERM");
});

test("a server that does not start is reported with its reason, not with that of an earlier end", async () => {
  await (await heldAndReady()).kill("SIGTERM");
  await rename(`${cluster}/global/pg_control`, `${cluster}/pg_control`);
  const { refused } = await hold().said();
  await rename(`${cluster}/pg_control`, `${cluster}/global/pg_control`);
  assert.match(
    refused ?? "",
    /did not start on .*: postgres: could not find the database system.*pg_control/,
  );
});

test("the password is readable by the owner alone, and the server is not on the network", async () => {
  const service = await heldAndReady();
  const { rows } = await service.query("select current_setting('listen_addresses') as addresses");
  assert.deepEqual(rows, [{ addresses: "" }]);
  for (const name of ["postgres-password", "postgres-superuser-password"]) {
    const { mode } = await stat(`${dataDir}/${name}`);
    assert.equal(mode & 0o777, 0o600, name);
  }
  const hba = await readFile(`${cluster}/pg_hba.conf`, "utf8");
  const methods = hba
    .split("\n")
    .filter((line) => /^(local|host)/.test(line))
    .map((line) => line.trim().split(/\s+/).at(-1));
  assert.deepEqual([...new Set(methods)], ["scram-sha-256"]);
  await service.kill("SIGTERM");
});

test("the superuser has a password of its own, also in a directory where it once shared the service's", async () => {
  const passwordOf = async (name: string) => (await readFile(`${dataDir}/${name}`, "utf8")).trim();
  /** `opened`, or the SQLSTATE of the refusal. */
  const logIn = async (user: string, password: string, statement = "select") => {
    const address = { host: cluster, port: 5432, user, password, database: "postgres" };
    return await withSession(clientConfig(address), "start", (client) => client.query(statement)).then(
      () => "opened",
      ({ code }: { code?: string }) => code,
    );
  };
  let service = await heldAndReady();
  const shared = await passwordOf("postgres-password");
  const own = await passwordOf("postgres-superuser-password");
  assert.deepEqual([await logIn("bellhop", shared), await logIn("postgres", own)], ["opened", "opened"]);
  assert.deepEqual([await logIn("postgres", shared), await logIn("bellhop", own)], ["28P01", "28P01"]);
  assert.equal(await logIn("postgres", own, `alter role postgres password '${shared}'`), "opened");
  await service.kill("SIGTERM");
  await rm(`${dataDir}/postgres-superuser-password`);

  service = await heldAndReady();
  const fresh = await passwordOf("postgres-superuser-password");
  assert.notEqual(fresh, own);
  assert.equal(await passwordOf("postgres-password"), shared);
  assert.deepEqual([await logIn("postgres", fresh), await logIn("postgres", shared)], ["opened", "28P01"]);
  await service.kill("SIGTERM");

  await writeFile(`${dataDir}/postgres-password`, "another\n");
  service = await heldAndReady();
  assert.deepEqual([await logIn("bellhop", "another"), await logIn("bellhop", shared)], ["opened", "28P01"]);
  await service.kill("SIGTERM");
  await writeFile(`${dataDir}/postgres-superuser-password`, "wrong\n");
  assert.match(
    (await hold().said()).refused ?? "",
    /postgres-superuser-password is not the superuser's password of .*: restore the file/,
  );
  await writeFile(`${dataDir}/postgres-superuser-password`, `${fresh}\n`);
});

test("a directory of another major version is refused in one clear line, untouched", async () => {
  await until(async () => (await serverProcesses(cluster)).length === 0, 5_000);
  await writeFile(`${cluster}/PG_VERSION`, "17\n");
  assert.match((await hold().said()).refused ?? "", /belongs to PostgreSQL 17, but this Bellhop includes 18/);
  await writeFile(`${cluster}/PG_VERSION`, "18\n");
});
