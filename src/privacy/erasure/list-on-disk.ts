import { randomBytes } from "node:crypto";
import { open, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { ErasureError } from "./erasure-error.ts";
import { type ErasureListFile, readErasureList } from "./list-file.ts";

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

/** Reads the list that a file holds. Throws ErasureError where there is none, or it is cut off. */
export async function readListFile(path: string): Promise<ErasureListFile> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new ErasureError(`The erasure list ${path} cannot be read (${codeOf(cause)}).`, { cause });
  });
  return readErasureList(text);
}

/**
 * What a file lists and a database does not (a restored one, or another installation's) must not be lost: nobody would erase those
 * guests again. Throws ErasureError.
 */
async function refuseToForget(path: string, list: ErasureListFile): Promise<void> {
  const before = await readListFile(path).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ErasureError(`${path} is there and is not replaced: ${why} Name another file.`, { cause });
  });
  const known = new Set(list.erasures.map(({ erasureId }) => erasureId));
  const forgotten = before.erasures.filter(({ erasureId }) => !known.has(erasureId)).length;
  if (forgotten > 0)
    throw new ErasureError(
      `${path} lists ${forgotten} erasures that this database does not know, and is not replaced: take them in first (bellhop erasure import ${path}), or name another file.`,
    );
}

/** Writes beside the place and renames, so that whatever happens the former list or this one is there, whole and on disk. */
async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.partial-${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(partial, text, { mode: 0o600, flag: "wx", flush: true });
    await rename(partial, path);
    const directory = await open(dirname(path), "r");
    await directory.sync();
    await directory.close();
  } catch (cause) {
    await rm(partial, { force: true });
    throw new ErasureError(`The erasure list cannot be written to ${path} (${codeOf(cause)}).`, { cause });
  }
}

/**
 * Keeps a list, as its text, under a path (mode 0600), in the place of an earlier one that knows of nothing else. Throws
 * ErasureError where it cannot be written, and where another file, or what only it knows, would be lost.
 */
export async function writeListFile(path: string, text: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw new ErasureError(`${path} is a directory: name a file.`);
  // A pipe or a device takes what it is given.
  if (found !== undefined && !found.isFile()) return await writeFile(path, text);
  if (found !== undefined) await refuseToForget(path, readErasureList(text));
  await replaceFile(found === undefined ? path : await realpath(path), text);
}
