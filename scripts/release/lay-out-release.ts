import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Release, readReleases } from "./releases.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

/** A release that can be run: its sources in a directory of their own, with the packages of this checkout. */
export interface LaidOut {
  readonly version: string;
  readonly directory: string;
  remove(): Promise<void>;
}

/** There is no release that could be run here; the message says why. */
export class NoRelease extends Error {}

/** Whether git has the commit here: a clone without history has not. */
async function isCommitHere(commit: string): Promise<boolean> {
  return await run("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root }).then(
    () => true,
    () => false,
  );
}

/** Lays out the newest release, or the one that is given, from git. Throws NoRelease where that has not its commit. */
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
  // It would install the same ones, but for what has come to the lock file since.
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  return { version, directory, remove: () => rm(directory, { recursive: true, force: true }) };
}
