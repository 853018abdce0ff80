import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { access, chmod, constants, link, mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../../errors/operator-error.ts";
import { makeDirectory } from "../../runtime/make-directory.ts";

/** The account that the server runs as when the service runs as root, which PostgreSQL refuses for itself. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Something about this machine keeps the embedded server from running; the message says what to do, in one line. */
export class EmbeddedPostgresError extends OperatorError {}

/**
 * Whom the server runs as: undefined means as ourselves, an ordinary user. As root it is the owner of the data
 * directory where there is one already, else the first of the accounts that exist on nearly every system; none is ever
 * created. Throws EmbeddedPostgresError when there is none.
 */
function chooseServerUser(existingDataDirectory: string | undefined): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existingDataDirectory !== undefined) {
    const { uid, gid } = statSync(existingDataDirectory);
    if (uid === 0) {
      throw new EmbeddedPostgresError(
        `${existingDataDirectory} belongs to root, as whom PostgreSQL does not run: give it to another user (chown -R).`,
      );
    }
    return { name: `user ${uid}`, uid, gid };
  }
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(":");
    const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
    // macOS writes nobody as -2, which the kernel knows as the unsigned number.
    if (fields !== undefined && uid !== 0) return { name, uid: uid >>> 0, gid: gid >>> 0 };
  }
  throw new EmbeddedPostgresError(
    "PostgreSQL does not run as root and there is no account postgres or nobody: start as an ordinary user, or set DATABASE_URL.",
  );
}

/** What spawn needs to run something as the server's user, with none of our environment (it holds secrets). */
export function spawnIdentity(user: ServerUser | undefined): {
  uid?: number;
  gid?: number;
  cwd: string;
  env: NodeJS.ProcessEnv;
} {
  const base = { cwd: "/", env: { LC_ALL: "C", PATH: "/usr/local/bin:/usr/bin:/bin" } };
  return user === undefined ? base : { ...base, uid: user.uid, gid: user.gid };
}

/** Tries as that user (mode bits alone do not tell: access lists, mounts) whether it can enter a directory. */
function canEnter(user: ServerUser | undefined, directory: string): boolean {
  const script = 'cd "$1"';
  return (
    spawnSync("/bin/sh", ["-c", script, "sh", directory], { ...spawnIdentity(user), stdio: "ignore" })
      .status === 0
  );
}

/** Where the parts of an embedded server live. */
export interface ServerHome {
  /** DATA_DIR: the locks and the password. */
  readonly dataDir: string;
  /** The parent of `dataDirectory`: DATA_DIR, or a directory of its own where the server's user cannot reach that. */
  readonly directory: string;
  /** PostgreSQL's own data directory. */
  readonly dataDirectory: string;
  readonly user: ServerUser | undefined;
  /** Where a copy of the programs goes if one is needed. */
  readonly copiesDirectory: string;
  readonly password: string;
}

/** The system's place for state that programs keep. */
const STATE_DIRECTORY = process.platform === "darwin" ? "/var/db/bellhop" : "/var/lib/bellhop";

/**
 * Decides where the server lives and as whom it runs, and makes the directories. As root, where the server's user
 * cannot reach DATA_DIR, the cluster lives under the system's state directory and the file
 * `DATA_DIR/postgres-location` points there. Throws EmbeddedPostgresError when neither works.
 */
export async function prepareHome(dataDir: string): Promise<ServerHome> {
  const isRoot = process.getuid?.() === 0;
  await makeDataDirectory(dataDir, isRoot ? 0o755 : 0o700);
  const directory = await locate(dataDir, isRoot);
  const dataDirectory = join(directory, "postgres");
  const user = chooseServerUser((await exists(dataDirectory)) ? dataDirectory : undefined);
  if (user !== undefined && !canEnter(user, directory)) {
    throw new EmbeddedPostgresError(
      `${user.name}, as whom PostgreSQL runs, cannot reach ${directory} any more: move DATA_DIR to where it can.`,
    );
  }
  return {
    dataDir,
    directory,
    dataDirectory,
    user,
    copiesDirectory: isRoot ? await makeReachable(STATE_DIRECTORY) : dataDir,
    password: await readOrCreate(join(dataDir, "postgres-password"), randomBytes(32).toString("base64url")),
  };
}

/** Whether a DATA_DIR has a cluster, here or where it points to; nothing is made. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return (await exists(join(dataDir, "postgres"))) || (await exists(join(dataDir, "postgres-location")));
}

async function locate(dataDir: string, isRoot: boolean): Promise<string> {
  const pointer = join(dataDir, "postgres-location");
  const pointed = await readFile(pointer, "utf8").catch(() => undefined);
  if (pointed !== undefined) return await followPointer(pointer, pointed.trim());
  if (!isRoot || (await exists(join(dataDir, "postgres")))) return dataDir;
  const user = chooseServerUser(undefined);
  if (canEnter(user, dataDir)) return dataDir;
  const own = join(await makeReachable(STATE_DIRECTORY), randomBytes(6).toString("hex"));
  await makeReachable(own);
  await writeFile(join(own, "belongs-to"), `${dataDir}\n`);
  if (!canEnter(user, own)) {
    throw new EmbeddedPostgresError(
      `PostgreSQL's user can reach neither ${dataDir} nor ${own}: set DATA_DIR to a directory that it can.`,
    );
  }
  // Of two that start at once only one pointer is made, and both follow it.
  const winner = await readOrCreate(pointer, own);
  if (winner !== own) await rm(own, { recursive: true, force: true });
  return winner;
}

async function followPointer(pointer: string, directory: string): Promise<string> {
  if (await exists(directory)) return directory;
  throw new EmbeddedPostgresError(
    `${pointer} points to ${directory}, which is not there: restore it, or remove the pointer to start empty.`,
  );
}

/** Throws EmbeddedPostgresError where DATA_DIR is no directory and cannot be made one. */
async function makeDataDirectory(dataDir: string, mode: number): Promise<void> {
  try {
    await makeDirectory(dataDir, mode);
    if ((await stat(dataDir)).isDirectory()) return await access(dataDir, constants.W_OK);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    // One that is there may be somebody else's.
    const [what, todo] =
      syscall === "access"
        ? ["written", "start as the user that it belongs to, or set it to a directory that can be written"]
        : ["made", "set it to a directory that can be written"];
    throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} cannot be ${what} (${code}): ${todo}.`, {
      cause: error,
    });
  }
  throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} is a file: set it to a directory.`);
}

async function makeReachable(directory: string): Promise<string> {
  try {
    await mkdir(directory, { recursive: true });
    // Whatever the umask is; what is private inside has a mode of its own.
    await chmod(directory, 0o755);
    return directory;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `${directory} cannot be made: set DATA_DIR to a directory that PostgreSQL's user can reach.`,
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
        ? new EmbeddedPostgresError(`${path} cannot be reached: start as the user that it belongs to.`, {
            cause: error,
          })
        : error;
    },
  );
}

/** The file's text; made with `text` (mode 0600, on disk before it has its name) when it is not there. Atomic. */
async function readOrCreate(path: string, text: string): Promise<string> {
  const present = await readIfPresent(path);
  if (present !== undefined) return present;
  const staging = `${path}.new-${randomBytes(6).toString("hex")}`;
  const file = await open(staging, "wx", 0o600);
  await file.writeFile(`${text}\n`);
  await file.sync();
  await file.close();
  try {
    // Unlike rename, link never replaces the file of another that was faster.
    await link(staging, path);
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return (await readFile(path, "utf8")).trim();
  } finally {
    await rm(staging, { force: true });
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new EmbeddedPostgresError(`${path} cannot be read: start as the user that it belongs to.`, {
      cause: error,
    });
  }
}
