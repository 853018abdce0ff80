import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { link, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OperatorError } from "../../platform/errors/operator-error.ts";

/** Destination of a backup. */
export interface BackupSink {
  /** Name of the destination for messages. */
  readonly name: string;
  write(bytes: Buffer): Promise<void>;
  /** Completes the backup: it is on disk under its name when this returns. */
  finish(): Promise<void>;
  /** Deletes the incomplete backup. */
  abandon(): Promise<void>;
}

const isThere = (path: string) => `The file ${path} exists: a backup does not replace files.`;

function cannotBeWritten(path: string, cause: unknown): OperatorError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "EEXIST") return new OperatorError(isThere(path), { cause });
  return new OperatorError(`The backup cannot be written to ${path} (${code ?? String(cause)}).`, { cause });
}

/** For a directory, a file in it named after the time. */
async function fileIn(path: string, atMs: number): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined && !path.endsWith("/")) return path;
  if (found !== undefined && !found.isDirectory()) throw new OperatorError(isThere(path));
  const moment = new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  return join(path, `bellhop-${moment}.tar`);
}

/** Error codes of file systems without links, such as exFAT. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Gives a file its name; fails if it exists. A link, unlike a rename, replaces nothing. */
async function takeName(partial: string, name: string): Promise<void> {
  try {
    await link(partial, name);
    await rm(partial);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code)) throw error;
    await (await open(name, "wx", 0o600)).close();
    await rename(partial, name);
  }
}

/**
 * Opens a file for a backup; `path` may be a directory. It is written under a temporary name (mode 0600) and renamed when complete, so a
 * file with that name is always a complete backup. Throws OperatorError if it exists or cannot be written.
 */
export async function openBackupFile(path: string, atMs: number): Promise<BackupSink> {
  const name = await fileIn(path, atMs);
  const partial = `${name}.partial-${randomBytes(4).toString("hex")}`;
  const failed = (where: string) => (cause: unknown) => {
    throw cannotBeWritten(where, cause);
  };
  const file = await open(partial, "wx", 0o600).catch(failed(name));
  const finish = async () => {
    await file.sync();
    await file.close();
    await takeName(partial, name);
    const directory = await open(dirname(name), "r");
    await directory.sync();
    await directory.close();
  };
  return {
    name,
    write: (bytes) => file.writeFile(bytes).catch(failed(partial)),
    finish: () => finish().catch(failed(name)),
    async abandon() {
      await file.close().catch(() => undefined);
      await rm(partial, { force: true });
    },
  };
}

/** Standard output, to pipe the backup to encryption or upload. The receiving command must detect a truncated backup. */
export function standardOutputSink(): BackupSink {
  return {
    name: "standard output",
    async write(bytes) {
      if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
    },
    finish: async () => undefined,
    abandon: async () => undefined,
  };
}
