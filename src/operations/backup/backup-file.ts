import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { link, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OperatorError } from "../../platform/errors/operator-error.ts";

/** Where a backup is written to. */
export interface BackupSink {
  /** Where the backup lies, for messages. */
  readonly name: string;
  write(bytes: Buffer): Promise<void>;
  /** All is written: it is to be on disk under its name when this returns. */
  finish(): Promise<void>;
  /** It will not be finished: nothing of it stays. */
  abandon(): Promise<void>;
}

const isThere = (path: string) => `There is a file ${path} already: a backup does not replace it.`;

function cannotBeWritten(path: string, cause: unknown): OperatorError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "EEXIST") return new OperatorError(isThere(path), { cause });
  return new OperatorError(`The backup cannot be written to ${path} (${code ?? String(cause)}).`, { cause });
}

/** A directory stands for a file in it that is named after the moment. */
async function fileIn(path: string, atMs: number): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined && !path.endsWith("/")) return path;
  if (found !== undefined && !found.isDirectory()) throw new OperatorError(isThere(path));
  const moment = new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  return join(path, `bellhop-${moment}.tar`);
}

/** What file systems answer that have no links, such as exFAT. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Gives a file its name. Fails where another was faster: unlike a rename, a link replaces nothing. */
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
 * Opens a file for a backup; `path` may name a directory. It is written beside its place (mode 0600) and gets its name when it is whole, so what bears
 * that name is a whole backup, whenever its writer is killed. Throws OperatorError where it cannot be written, or there is one.
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
