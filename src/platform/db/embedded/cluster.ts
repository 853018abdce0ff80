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

/** The role the service works as: it owns its database and is no superuser. The database has the same name. */
const SERVICE_ROLE = "bellhop";
const SUPERUSER = "postgres";

/**
 * Makes the cluster where there is none: initdb beside it, then one rename, so a kill at any moment leaves either
 * nothing or a whole one. Throws EmbeddedPostgresError where the directory is of another major version.
 */
export async function ensureCluster(home: ServerHome, binaries: Binaries): Promise<void> {
  if (!(await exists(home.dataDirectory))) await initialise(home, binaries);
  const version = (
    await readFile(join(home.dataDirectory, "PG_VERSION"), "utf8").catch(() => "unknown")
  ).trim();
  if (version !== binaries.majorVersion) {
    throw new EmbeddedPostgresError(
      `${home.dataDirectory} is of PostgreSQL ${version} and this Bellhop brings ${binaries.majorVersion}: start the Bellhop that made it.`,
    );
  }
}

async function initialise(home: ServerHome, binaries: Binaries): Promise<void> {
  await removeAbandoned(home.directory);
  const staging = join(home.directory, `initdb-${process.pid}-${randomBytes(4).toString("hex")}`);
  const passwordFile = join(staging, "password");
  try {
    await mkdir(staging, { mode: 0o700 });
    await writeFile(passwordFile, `${home.password}\n`, { mode: 0o600 });
    if (home.user !== undefined) {
      for (const path of [staging, passwordFile]) await chown(path, home.user.uid, home.user.gid);
    }
    await runInitdb(home, binaries, join(staging, "postgres"), passwordFile);
    await rename(join(staging, "postgres"), home.dataDirectory).catch((error: NodeJS.ErrnoException) => {
      // Another that started at the same moment was faster; its cluster has the same password.
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
      // PostgreSQL's own rules: the order of an index never changes with an update of the operating system.
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--locale=C",
      "--data-checksums",
      // The commit that needs a new file of the write-ahead log waits until it is filled with zeros: 50 ms for the 16 MB of the default.
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

/** Removes what an initdb left that was killed half-way. */
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

/** The service's address on a server. */
export function serviceAddress(home: ServerHome, listen: ListenAddress): ServerAddress {
  return address(home, listen, SERVICE_ROLE, SERVICE_ROLE);
}

function address(home: ServerHome, listen: ListenAddress, user: string, database: string): ServerAddress {
  const host = "host" in listen ? listen.host : listen.socketDirectory;
  return { host, port: listen.port, user, password: home.password, database };
}

/**
 * Connects as superuser and makes the service's role and database where they are missing (a kill may have come
 * between). Throws what pg throws while the server does not take connections yet.
 */
export async function ensureServiceRole(home: ServerHome, listen: ListenAddress): Promise<void> {
  await withSession(clientConfig(address(home, listen, SUPERUSER, "postgres")), "start", async (client) => {
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
  });
}
