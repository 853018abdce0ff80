import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a directory with those above it, unless something has its name. As `mkdir` with `recursive`, which never returns where a file
 * system answers ENOENT to making an entry (/proc does).
 */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  const make = () =>
    mkdir(directory, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  try {
    await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await makeDirectory(dirname(directory), mode);
    await make();
  }
}
