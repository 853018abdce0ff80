import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Release, readReleases } from "./releases.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

/** A runnable release: its sources in a separate directory, with the packages of this checkout. */
export interface LaidOut {
  readonly version: string;
  readonly directory: string;
  remove(): Promise<void>;
}

/** No release can be run here; the message says why. */
export class NoRelease extends Error {}

/** Whether git has the commit: a shallow clone may lack it. */
async function isCommitHere(commit: string): Promise<boolean> {
  return await run("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root }).then(
    () => true,
    () => false,
  );
}

/** Checks out the given or newest release from git. Throws NoRelease if git lacks its commit. */
export async function layOutRelease(release?: Release): Promise<LaidOut> {
  const wanted = release ?? (await readReleases()).at(-1);
  if (wanted === undefined) throw new NoRelease("nothing has been released yet");
  const { version, commit } = wanted;
  if (!(await isCommitHere(commit)))
    throw new NoRelease(`this clone has no commit ${commit}, which version ${version} is`);
  const directory = await mkdtemp(join(tmpdir(), `bellhop-${version}-`));
  const archive = join(directory, "release.tar");
  const parts = ["src", "sql", "docs/openapi.json", "packages/client", "package.json"];
  await run("git", ["archive", "--format=tar", "-o", archive, commit, ...parts], { cwd: root });
  await run("tar", ["-xf", archive, "-C", directory]);
  await rm(archive);
  // It would install the same packages, except for later changes to the lock file.
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  return { version, directory, remove: () => rm(directory, { recursive: true, force: true }) };
}
