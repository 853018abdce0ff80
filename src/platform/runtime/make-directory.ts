import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a directory with those above it, unless something has its name. As `mkdir` with `recursive`, which never returns where a file
 * system answers ENOENT to making an entry (/proc does).
 */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  try {
    await mkdir(directory, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    const parent = dirname(directory);
    const isThere = await stat(parent).then(
      () => true,
      () => false,
    );
    if (code !== "ENOENT" || isThere) throw error;
    await makeDirectory(parent, mode);
    await mkdir(directory, { mode });
  }
}
