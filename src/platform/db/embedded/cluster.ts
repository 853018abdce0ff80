import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { clientConfig, type ServerAddress, withSession } from "../connection.ts";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError, exists, type ServerHome, spawnIdentity } from "./home.ts";
import type { ListenAddress } from "./postmaster.ts";

/** The role of the service, which owns the database of the same name and is not a superuser. */
const SERVICE_ROLE = "bellhop";
const SUPERUSER = "postgres";

/**
 * Creates the cluster if there is none: initdb into a staging directory, then one rename, so that a kill leaves no
 * partial cluster. Throws EmbeddedPostgresError if the directory belongs to another major version.
 */
export async function ensureCluster(home: ServerHome, binaries: Binaries): Promise<void> {
  if (!(await exists(home.dataDirectory))) await initialise(home, binaries);
  const version = (
    await readFile(join(home.dataDirectory, "PG_VERSION"), "utf8").catch(() => "unknown")
  ).trim();
  if (version !== binaries.majorVersion) {
    throw new EmbeddedPostgresError(
      `${home.dataDirectory} belongs to PostgreSQL ${version}, but this Bellhop includes ${binaries.majorVersion}: start the Bellhop that created it.`,
    );
  }
}

async function initialise(home: ServerHome, binaries: Binaries): Promise<void> {
  await removeAbandoned(home.directory);
  const staging = join(home.directory, `initdb-${process.pid}-${randomBytes(4).toString("hex")}`);
  const passwordFile = join(staging, "password");
  try {
    await mkdir(staging, { mode: 0o700 });
    await writeFile(passwordFile, `${home.superuserPassword}\n`, { mode: 0o600, flag: "wx" });
    if (home.user !== undefined) {
      for (const path of [staging, passwordFile]) await chown(path, home.user.uid, home.user.gid);
    }
    await runInitdb(home, binaries, join(staging, "postgres"), passwordFile);
    await rename(join(staging, "postgres"), home.dataDirectory).catch((error: NodeJS.ErrnoException) => {
      // Another process that started concurrently won; its cluster has the same password.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    const directory = await open(home.directory, "r");
    await directory.sync();
    await directory.close();
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function runInitdb(
  home: ServerHome,
  binaries: Binaries,
  dataDirectory: string,
  passwordFile: string,
): Promise<void> {
  const child = spawn(
    binaries.initdb,
    [
      `--pgdata=${dataDirectory}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // The builtin provider: an update of the operating system cannot change the order of indexes.
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--locale=C",
      "--data-checksums",
      // A commit that needs a new WAL file waits until it is zero-filled: 50 ms at the default of 16 MB.
      "--wal-segsize=4",
    ],
    { ...spawnIdentity(home.user), stdio: ["ignore", "ignore", "pipe"] },
  );
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-4096);
  });
  const [status] = await once(child, "close");
  if (status !== 0) {
    const line = errors.split("\n").find((text) => text.includes("error")) ?? errors.trim();
    throw new EmbeddedPostgresError(`The database could not be created in ${home.directory}: ${line}`);
  }
}

/** Removes the staging directory of an interrupted initdb. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = Number(/^initdb-(\d+)-/.exec(name)?.[1] ?? process.pid);
    if (pid === process.pid || isAlive(pid)) continue;
    await rm(join(directory, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

export function serviceAddress(home: ServerHome, listen: ListenAddress): ServerAddress {
  const { password } = home;
  return { ...placeOf(listen), user: SERVICE_ROLE, password, database: SERVICE_ROLE };
}

function placeOf(listen: ListenAddress): { readonly host: string; readonly port: number } {
  return { host: "host" in listen ? listen.host : listen.socketDirectory, port: listen.port };
}

/** The password does not match (SQLSTATE invalid_password). */
export const isWrongPassword = (error: unknown) => (error as { code?: string }).code === "28P01";

/** Runs `work` as superuser. Until a start has finished with it, a cluster of an earlier version has the service's password for both. */
async function asSuperuser(
  home: ServerHome,
  listen: ListenAddress,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const run = (password: string, also: (client: pg.Client) => Promise<void>) => {
    const address = { ...placeOf(listen), user: SUPERUSER, password, database: "postgres" };
    return withSession(clientConfig(address), "start", also);
  };
  try {
    await run(home.superuserPassword, work);
  } catch (error) {
    if (!isWrongPassword(error)) throw error;
    await run(home.password, async (client) => {
      await client.query(setPassword(SUPERUSER, home.superuserPassword));
      await work(client);
    });
  }
}

function setPassword(role: string, password: string): string {
  return `alter role ${role} password ${pg.escapeLiteral(password)}`;
}

/**
 * Connects as superuser and creates the service's role and database if missing, as after an interrupted start. Sets the role's password if
 * its file was replaced. Throws pg's error while the server accepts no connections.
 */
export async function ensureServiceRole(home: ServerHome, listen: ListenAddress): Promise<void> {
  await asSuperuser(home, listen, async (client) => {
    const { rows } = await client.query<{ role: boolean; database: boolean }>(
      `select exists (select from pg_roles where rolname = $1) as role,
              exists (select from pg_database where datname = $1) as database`,
      [SERVICE_ROLE],
    );
    if (rows[0]?.role !== true) {
      await client.query(
        `create role ${SERVICE_ROLE} login createdb in role pg_monitor password ${pg.escapeLiteral(home.password)}`,
      );
    }
    if (rows[0]?.database !== true)
      await client.query(`create database ${SERVICE_ROLE} owner ${SERVICE_ROLE}`);
    await withSession(clientConfig(serviceAddress(home, listen)), "start", async () => undefined).catch(
      async (error: unknown) => {
        if (!isWrongPassword(error)) throw error;
        await client.query(setPassword(SERVICE_ROLE, home.password));
      },
    );
  });
}
