import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { contextRules, pairsOf, readDockerfile } from "./dockerfile.ts";
import { copy } from "./image.ts";

const run = promisify(execFile);
const checkout = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(checkout, path), "utf8");

type RuleCase = readonly [dockerignore: string, included: readonly string[], left: readonly string[]];
const RULES: readonly RuleCase[] = [
  ["*\n!docs", ["docs/a/b.md"], ["CHANGELOG.md", "docs2/a"]],
  ["*\n!docs\ndocs/*/b.md", ["docs/b.md", "docs/a/c.md"], ["docs/a/b.md"]],
  ["**/dist", ["distance"], ["dist", "packages/docs/dist/a.js"]],
  ["docs/**", ["docs.md"], ["docs/a", "docs/a/b"]],
  ["/docs/\n # no comment", ["a/docs/b"], ["docs/a", "# no comment"]],
  ["*.md\n!README*.md\nREADME-secret.md", ["a.ts", "README-1.md", "a/b.md"], ["a.md", "README-secret.md"]],
  ["a?c\n[xy].ts\n  ! axc ", ["axc", "ac", "z.ts"], ["abc", "x.ts"]],
  ["docs/../src\nb\\*", ["docs/a", "bb"], ["src/a", "b*"]],
];

test(".dockerignore is read as an engine reads it", () => {
  for (const [dockerignore, included, left] of RULES) {
    const { includes } = contextRules(dockerignore);
    assert.deepEqual(
      [included.filter((path) => !includes(path)), left.filter(includes)],
      [[], []],
      dockerignore,
    );
  }
});

describe("the image's build", () => {
  const trees: string[] = [];
  after(() => Promise.all(trees.map((tree) => rm(tree, { recursive: true, force: true }))));

  test("finds in its context all that it reads, and the image all that the service reads", async () => {
    const root = await mkdtemp(join(tmpdir(), "bellhop-context-"));
    trees.push(root);
    const tree = await buildFromContext(root);
    for (const built of ["packages/console/dist/index.html", "packages/docs/dist/changelog.html"])
      assert.ok(existsSync(join(tree, built)), built);
    const sources = ["src/**", "sql/**", "packages/{client,contract,simulator}/src/**"];
    const missing = globSync(sources, { cwd: checkout, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
      .map((entry) => join(entry.parentPath, entry.name).slice(checkout.length))
      .filter((path) => !existsSync(join(tree, path)));
    assert.deepEqual(missing, []);
  });
});

/** Carries out the first stage in a folder; answers where the image's tree is. Packages are linked instead of installed. */
async function buildFromContext(root: string): Promise<string> {
  const [stage] = readDockerfile(read("Dockerfile"));
  const rules = contextRules(read(".dockerignore"));
  const environment: Record<string, string> = {};
  let directory = "/";
  for (const { name, text } of stage?.instructions ?? []) {
    const place = join(root, directory);
    if (name === "WORKDIR") directory = resolve(directory, text);
    else if (name === "ENV") Object.assign(environment, pairsOf(text));
    else if (name === "COPY")
      await copy({ context: checkout, rules, roots: new Map() }, { root, directory }, text);
    else if (name === "RUN")
      for (const command of text.split(" && ")) await runStep(place, command, inside(root, environment));
  }
  return join(root, directory);
}

/** Absolute paths of the image lie in the folder. */
function inside(root: string, environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, value.startsWith("/") ? root + value : value]),
  );
}

async function runStep(directory: string, command: string, environment: Record<string, string>) {
  if (command.startsWith("npm ci ")) return await linkPackages(directory, command);
  // Only root may give files away.
  if (command.startsWith("chown ")) return;
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  await run("/bin/sh", ["-c", command], {
    cwd: directory,
    env: { ...process.env, ...environment, PATH: path },
  });
}

/** Links those packages that `npm ci` would install by the lock file in the folder. */
async function linkPackages(directory: string, command: string): Promise<void> {
  const prefix = / --prefix (\S+)/.exec(command)?.[1] ?? "";
  const omitted = [...command.matchAll(/ --omit=(\w+)/g)].map(([, kind = ""]) => kind);
  const folder = join(directory, prefix);
  assert.ok(existsSync(join(folder, "package.json")), `${prefix}/package.json`);
  const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, Record<string, unknown>>;
  };
  for (const [path, flags] of Object.entries(packages)) {
    const isTop = path.lastIndexOf("node_modules/") === 0;
    const target = join(checkout, prefix, path);
    if (!isTop || omitted.some((kind) => flags[kind] === true) || !existsSync(target)) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(target, join(folder, path));
  }
}
