/**
 * `npm run release -- minor|patch|major [--checked] [--dry-run]`: releases the current commit. Runs tests and checks
 * (unless --checked), writes the version and CHANGELOG.md, commits, freezes the release in test/released, tests against
 * it, and tags the commit. Pushes nothing. See docs/internal/releases.md.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readMigrations } from "../src/platform/db/migrate.ts";
import { freezeRelease } from "./release/freeze-release.ts";
import { layOutRelease } from "./release/lay-out-release.ts";
import { RELEASE_KINDS, versionAfter, withRelease, withVersion } from "./release/release-text.ts";
import { type Release, readReleases } from "./release/releases.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { checked: { type: "boolean" }, "dry-run": { type: "boolean" } },
});
const kind = RELEASE_KINDS.find((one) => one === positionals[0]);
if (kind === undefined || positionals.length !== 1)
  fail("npm run release -- minor|patch|major [--checked] [--dry-run]");

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const read = (name: string) => readFileSync(`${root}${name}`, "utf8");

/** The new text of each file that changes, by name. */
function filesOf(version: string, date: string): Record<string, string> {
  try {
    return {
      "CHANGELOG.md": withRelease(read("CHANGELOG.md"), version, date),
      ...versionFiles(version),
    };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function versionFiles(version: string): Record<string, string> {
  const names = ["package.json", "package-lock.json"];
  return Object.fromEntries(names.map((name) => [name, withVersion(read(name), version)]));
}

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(`${root}${name}`, text);
}

/** Throws if the command fails. */
function run(...command: readonly [string, ...string[]]): void {
  const [program, ...args] = command;
  if (spawnSync(program, args, { cwd: root, stdio: "inherit" }).status !== 0)
    throw new Error(`${command.join(" ")} failed.`);
}

/** Freezes the commit in test/released. */
async function freeze(release: Pick<Release, "version" | "commit" | "date">): Promise<void> {
  const laidOut = await layOutRelease({ ...release, migrations: {} });
  try {
    await freezeRelease({ ...release, directory: laidOut.directory });
  } finally {
    await laidOut.remove();
  }
}

/** A patch must not contain migrations, so that patches can be applied and rolled back freely. */
async function refuseMigrationsInPatch(last: Release | undefined): Promise<void> {
  const added = (await readMigrations()).filter(
    ({ name }) => last !== undefined && !(name in last.migrations),
  );
  if (kind === "patch" && added.length > 0)
    fail(
      `A patch brings no migration, and ${added[0]?.name} is new since ${last?.version}: release a minor version.`,
    );
}

const last = (await readReleases()).at(-1);
const version = versionAfter(last?.version ?? "0.0.0", kind);
const date = new Date().toISOString().slice(0, 10);
if (git("status", "--porcelain") !== "") fail("There are changes that are not committed.");
if (git("tag", "--list", `v${version}`) !== "") fail(`There is a tag v${version} already.`);
await refuseMigrationsInPatch(last);
const before = git("rev-parse", "--short", "HEAD");
const files = filesOf(version, date);
if (values["dry-run"] === true) {
  console.log(`Would release ${version} of ${before}: ${Object.keys(files).join(", ")}.`);
  process.exit(0);
}
if (values.checked !== true) {
  try {
    run("npm", "test");
    run("npm", "run", "-s", "check");
  } catch (error) {
    fail(`${error instanceof Error ? error.message : String(error)} Nothing was changed.`);
  }
}
write(files);
git("commit", "--quiet", "--all", "--message", `release: version ${version}`);
const commit = git("rev-parse", "HEAD");
try {
  await freeze({ version, commit, date });
  // The frozen release binds this version first.
  run("npm", "test", "--", "test/platform/released.test.ts");
} catch (error) {
  console.error(error);
  fail(
    `Nothing is released. This takes the commit back: git reset --hard ${before} && git clean -fd test/released/${version}`,
  );
}
git("tag", "--annotate", `v${version}`, "--message", `version ${version}`, commit);
write(versionFiles(`${versionAfter(version, "minor")}-dev`));
git("add", "test/released", "package.json", "package-lock.json");
git(
  "commit",
  "--quiet",
  "--message",
  `test(released): what version ${version} is, for the next ones to be held to`,
);
console.log(`Version ${version} is committed and tagged v${version}; git push --follow-tags publishes it.`);
