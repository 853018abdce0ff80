import { randomBytes } from "node:crypto";
import { constants, lstatSync, openSync, rmSync } from "node:fs";
import { lstat, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../errors/operator-error.ts";

const WRITABLE_BY_OTHERS = 0o002;
const ROOT = 0;

/**
 * Whose files this process uses: its own and root's. Root, as which a command may run beside the service, also uses those of the owner of
 * their directory.
 */
function isTrusted(uid: number, directoryOwner: number): boolean {
  const own = process.getuid?.() ?? uid;
  return uid === own || uid === ROOT || (own === ROOT && uid === directoryOwner);
}

/**
 * Throws OperatorError if another user may have placed files or links in the directory: it or an entry is not trusted, or others can write
 * it. `except`: entries with owners of their own.
 */
export async function demandOwnDirectory(
  directory: string,
  name: string,
  except: readonly string[] = [],
): Promise<void> {
  // Windows has no owners.
  if (process.getuid === undefined) return;
  const { uid: owner, mode } = await stat(directory);
  if (!isTrusted(owner, owner))
    throw new OperatorError(`${name} ${directory} belongs to user ${owner}: start as its owner.`);
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new OperatorError(
      `Every user can write ${name} ${directory}: run chmod o-w on it, and remove what others left there.`,
    );
  for (const entry of await readdir(directory)) {
    if (except.includes(entry)) continue;
    const path = join(directory, entry);
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      // A temporary file of another process may be gone.
      if (error.code !== "ENOENT") throw error;
    });
    if (found !== undefined && !isTrusted(found.uid, owner))
      throw new OperatorError(
        `${path} belongs to user ${found.uid}, who may have planted it: remove it, or change its owner.`,
      );
  }
}

/** The text of a file; undefined if there is none. Throws OperatorError if it is a link or another user's. */
export async function readOwnFile(path: string): Promise<string | undefined> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP") throw new OperatorError(`${path} is a link: remove it.`, { cause: error });
    throw error;
  }
  try {
    const { uid } = await file.stat();
    const { uid: directoryOwner } = await stat(join(path, ".."));
    if (isTrusted(uid, directoryOwner)) return await file.readFile("utf8");
    throw new OperatorError(`${path} belongs to user ${uid}: remove it, or change its owner.`);
  } finally {
    await file.close();
  }
}

/** Writes a file that only its owner can read: a new one, renamed once it is on disk. Follows no link, and a kill leaves the file as it was. */
export async function replaceOwnFile(path: string, text: string): Promise<void> {
  const staging = `${path}.new-${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(staging, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(staging, path);
  } finally {
    await rm(staging, { force: true });
  }
}

/** Throws OperatorError if there is a link in the place of a directory whose files are written or deleted. */
export function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    throw new OperatorError(`${path} is a link: remove it.`);
}

/** Opens a new, empty file in the place of any other file or link of that name. */
export function createOwnFile(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, "wx", 0o600);
}
