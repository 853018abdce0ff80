import { chmod, mkdtemp, readdir, readFile, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerAddress } from "../../src/platform/db/connection.ts";
import { SUPERUSER_PASSWORD_FILE } from "../../src/platform/db/embedded/home.ts";
import { stopServer } from "../../src/platform/db/embedded/postmaster.ts";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded-postgres.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";

const silentLog = createLogger({ level: "silent", pretty: false });

/** A PostgreSQL in a directory of its own, for tests. */
export interface TestServer {
  /** As DATABASE_URL; its role may create databases. */
  readonly url: string;
  /** The same as superuser, for what the service's role may not do. */
  readonly superuserUrl: string;
  readonly directory: string;
  /** Stops it, and removes its directory unless that is to be kept. */
  stop(options?: { keep?: boolean }): Promise<void>;
}

/** A file system in memory. A run creates and drops hundreds of databases; on a disk each drop syncs and costs more than twice the CPU. */
const IN_MEMORY = "/dev/shm";
/** A whole run takes less than a quarter of it. */
const IN_MEMORY_BYTES_MIN = 2 ** 30;

/** Starts one, in memory where there is enough, after removing those that killed test runs left. */
export async function startTestServer(): Promise<TestServer> {
  for (const parent of [tmpdir(), IN_MEMORY]) await removeAbandoned(parent);
  const parent = (await freeBytes(IN_MEMORY)) >= IN_MEMORY_BYTES_MIN ? IN_MEMORY : tmpdir();
  const directory = await temporaryDirectory(`test-${process.pid}`, parent);
  const server = await startEmbeddedPostgres(directory, "command", silentLog);
  const stop = async (options: { keep?: boolean } = {}) => {
    await server.close();
    if (options.keep !== true) await rm(directory, { recursive: true, force: true });
  };
  const password = (await readFile(join(directory, SUPERUSER_PASSWORD_FILE), "utf8")).trim();
  const superuserUrl = addressUrl({ ...server.address, user: "postgres", password });
  return { url: addressUrl(server.address), superuserUrl, directory, stop };
}

/** A directory that other users may enter: as root, PostgreSQL runs as one of them. */
export async function temporaryDirectory(name: string, parent = tmpdir()): Promise<string> {
  const directory = await mkdtemp(join(parent, `bellhop-${name}-`));
  await chmod(directory, 0o755);
  return directory;
}

/** None where there is no such directory. */
async function freeBytes(directory: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = Number(/^bellhop-test-(\d+)-/.exec(name)?.[1] ?? process.pid);
    if (pid === process.pid || isAlive(pid)) continue;
    const directory = join(parent, name);
    await stopServer(join(directory, "postgres"));
    await rm(directory, { recursive: true, force: true });
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

/** An address with its parts in one line; a socket's directory stands percent-encoded in the place of the host. */
export function addressUrl(address: ServerAddress): string {
  if ("connectionString" in address) return address.connectionString;
  const host = encodeURIComponent(address.host);
  return `postgresql://${address.user}:${encodeURIComponent(address.password)}@${host}:${address.port}/${address.database}`;
}
