import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { access, chmod, constants, link, mkdir, open, rm, stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../../errors/operator-error.ts";
import { makeDirectory } from "../../runtime/make-directory.ts";
import { demandOwnDirectory, readOwnFile } from "../../runtime/own-files.ts";

const MIB = 1_048_576;

/** The account of the server if the service runs as root, as which PostgreSQL refuses to run. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** This machine cannot run the embedded server; the one-line message says what to do. */
export class EmbeddedPostgresError extends OperatorError {}

/**
 * Chooses the account of the server; undefined means the current user. For root it is the owner of an existing data
 * directory, otherwise the first existing of some common accounts. Throws EmbeddedPostgresError if none exists.
 */
function chooseServerUser(existingDataDirectory: string | undefined): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existingDataDirectory !== undefined) {
    const { uid, gid } = statSync(existingDataDirectory);
    if (uid === 0) {
      throw new EmbeddedPostgresError(
        `${existingDataDirectory} belongs to root, and PostgreSQL does not run as root: change its owner (chown -R).`,
      );
    }
    return { name: `user ${uid}`, uid, gid };
  }
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(":");
    const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
    // macOS lists nobody as -2; the kernel uses the unsigned number.
    if (fields !== undefined && uid !== 0) return { name, uid: uid >>> 0, gid: gid >>> 0 };
  }
  throw new EmbeddedPostgresError(
    "PostgreSQL does not run as root and there is no account postgres or nobody: start as an ordinary user, or set DATABASE_URL.",
  );
}

/** Options of spawn to run a program as the server's user, without the service's environment, which contains secrets. */
export function spawnIdentity(user: ServerUser | undefined): {
  uid?: number;
  gid?: number;
  cwd: string;
  env: NodeJS.ProcessEnv;
} {
  const base = { cwd: "/", env: { LC_ALL: "C", PATH: "/usr/local/bin:/usr/bin:/bin" } };
  return user === undefined ? base : { ...base, uid: user.uid, gid: user.gid };
}

/** Whether that user can enter a directory. Tests it by running a program, as mode bits ignore access lists and mounts. */
function canEnter(user: ServerUser | undefined, directory: string): boolean {
  const script = 'cd "$1"';
  return (
    spawnSync("/bin/sh", ["-c", script, "sh", directory], { ...spawnIdentity(user), stdio: "ignore" })
      .status === 0
  );
}

/** The locations of an embedded server. */
export interface ServerHome {
  /** DATA_DIR: the locks and the password. */
  readonly dataDir: string;
  /** The parent of `dataDirectory`: DATA_DIR, or a separate directory if the server's user cannot enter DATA_DIR. */
  readonly directory: string;
  /** PostgreSQL's data directory. */
  readonly dataDirectory: string;
  readonly user: ServerUser | undefined;
  /** The destination of copied programs, if needed. */
  readonly copiesDirectory: string;
  /** Of the service's role. */
  readonly password: string;
  readonly superuserPassword: string;
}

/** The system's directory for program state. */
const STATE_DIRECTORY = process.platform === "darwin" ? "/var/db/bellhop" : "/var/lib/bellhop";

/**
 * Chooses the server's location and account, and creates the directories. If the service runs as root and the server's
 * user cannot enter DATA_DIR, the cluster lives in the system's state directory and `DATA_DIR/postgres-location` names
 * it. Throws EmbeddedPostgresError if neither works.
 */
export async function prepareHome(dataDir: string): Promise<ServerHome> {
  const isRoot = process.getuid?.() === 0;
  await makeDataDirectory(dataDir, isRoot ? 0o755 : 0o700);
  // PostgreSQL checks its own directory, which belongs to its user.
  await demandOwnDirectory(dataDir, "DATA_DIR", ["postgres"]).catch(refuse);
  const directory = await locate(dataDir, isRoot);
  const dataDirectory = join(directory, "postgres");
  await demandSpace(directory, await exists(dataDirectory));
  const user = chooseServerUser((await exists(dataDirectory)) ? dataDirectory : undefined);
  if (user !== undefined && !canEnter(user, directory)) {
    throw new EmbeddedPostgresError(
      `PostgreSQL runs as ${user.name}, who can no longer enter ${directory}: move DATA_DIR, or permit access.`,
    );
  }
  return {
    dataDir,
    directory,
    dataDirectory,
    user,
    copiesDirectory: isRoot ? await makeReachable(STATE_DIRECTORY) : dataDir,
    password: await readOrCreatePassword(join(dataDir, "postgres-password")),
    superuserPassword: await readOrCreatePassword(join(dataDir, SUPERUSER_PASSWORD_FILE)),
  };
}

export const SUPERUSER_PASSWORD_FILE = "postgres-superuser-password";

function readOrCreatePassword(path: string): Promise<string> {
  return readOrCreate(path, randomBytes(32).toString("base64url"));
}

function refuse(error: unknown): never {
  if (error instanceof OperatorError) throw new EmbeddedPostgresError(error.message, { cause: error });
  throw error;
}

/** A new cluster takes 46 MB; below MIN_FREE_DISK_MIB it would accept nothing. */
const NEW_CLUSTER_BYTES = 64 * MIB;
/** PostgreSQL starts on an almost full disk, but its locks and its log need some pages. */
const RESTART_BYTES = MIB / 16;

async function demandSpace(directory: string, hasCluster: boolean): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const needed = hasCluster ? RESTART_BYTES : NEW_CLUSTER_BYTES;
  if (bavail * bsize >= needed) return;
  const free = `The disk of ${directory} is full: ${Math.floor((bavail * bsize) / MIB)} MiB are free`;
  throw new EmbeddedPostgresError(
    hasCluster
      ? `${free}. Free some space and start again; accepted batches are kept.`
      : `${free}, and a new database needs ${NEW_CLUSTER_BYTES / MIB}. Free some space, or set DATA_DIR to another disk.`,
  );
}

/** Whether DATA_DIR contains or names a cluster. Creates nothing. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return (await exists(join(dataDir, "postgres"))) || (await exists(join(dataDir, "postgres-location")));
}

async function locate(dataDir: string, isRoot: boolean): Promise<string> {
  const pointer = join(dataDir, "postgres-location");
  const pointed = await readIfPresent(pointer);
  if (pointed !== undefined) return await followPointer(pointer, pointed);
  if (!isRoot || (await exists(join(dataDir, "postgres")))) return dataDir;
  const user = chooseServerUser(undefined);
  if (canEnter(user, dataDir)) return dataDir;
  const own = join(await makeReachable(STATE_DIRECTORY), randomBytes(6).toString("hex"));
  await makeReachable(own);
  await writeFile(join(own, "belongs-to"), `${dataDir}\n`, { flag: "wx" });
  if (!canEnter(user, own)) {
    throw new EmbeddedPostgresError(
      `PostgreSQL's user can enter neither ${dataDir} nor ${own}: set DATA_DIR to a directory that it can enter.`,
    );
  }
  // Concurrent starts create only one pointer, which both follow.
  const winner = await readOrCreate(pointer, own);
  if (winner !== own) await rm(own, { recursive: true, force: true });
  return winner;
}

async function followPointer(pointer: string, directory: string): Promise<string> {
  if (await exists(directory)) return directory;
  throw new EmbeddedPostgresError(
    `${pointer} points to ${directory}, which does not exist: restore it, or remove the pointer to start empty.`,
  );
}

/** Throws EmbeddedPostgresError if DATA_DIR is not a directory and cannot be created. */
async function makeDataDirectory(dataDir: string, mode: number): Promise<void> {
  try {
    await makeDirectory(dataDir, mode);
    if ((await stat(dataDir)).isDirectory()) return await access(dataDir, constants.W_OK);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    // An existing directory may belong to another program.
    const [what, todo] =
      syscall === "access"
        ? ["written", "start as its owner, or set it to a writable directory"]
        : ["created", "set it to a directory that can be written"];
    throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} cannot be ${what} (${code}): ${todo}.`, {
      cause: error,
    });
  }
  throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} is a file: set it to a directory.`);
}

async function makeReachable(directory: string): Promise<string> {
  try {
    await mkdir(directory, { recursive: true });
    // Regardless of the umask; private files have their own modes.
    await chmod(directory, 0o755);
    return directory;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `${directory} cannot be created: set DATA_DIR to a directory that PostgreSQL's user can enter.`,
      { cause: error },
    );
  }
}

export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error.code === "EACCES"
        ? new EmbeddedPostgresError(`${path} cannot be accessed: start as its owner.`, {
            cause: error,
          })
        : error;
    },
  );
}

/** Returns the file's text. Creates a missing file atomically with `text` (mode 0600, flushed to disk first). */
async function readOrCreate(path: string, text: string): Promise<string> {
  const present = await readIfPresent(path);
  if (present !== undefined) return present;
  const staging = `${path}.new-${randomBytes(6).toString("hex")}`;
  const file = await open(staging, "wx", 0o600);
  await file.writeFile(`${text}\n`);
  await file.sync();
  await file.close();
  try {
    // Unlike rename, link fails if a concurrent process has created the file.
    await link(staging, path);
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return (await readIfPresent(path)) ?? text;
  } finally {
    await rm(staging, { force: true });
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return (await readOwnFile(path))?.trim();
  } catch (error) {
    if (error instanceof OperatorError) refuse(error);
    throw new EmbeddedPostgresError(`${path} cannot be read: start as its owner.`, {
      cause: error,
    });
  }
}
