import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/** As `mkdir` with `recursive`, which never returns on file systems that answer ENOENT to creating an entry (/proc does). */
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
