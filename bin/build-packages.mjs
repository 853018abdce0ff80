import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode, ownNode } from "./find-node.mjs";
import { ensureInstalled, takeLock } from "./install.mjs";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"];
/** The packages that the service serves, each with its own dependencies, and their source files and folders. */
const PACKAGES = {
  console: { title: "the console", sources: ["packages/console", "packages/contract/src"] },
  docs: {
    title: "the documentation",
    sources: [
      "packages/docs",
      "packages/console/src/design",
      "packages/console/public",
      "docs",
      "examples/guides",
      "examples/pms-adapter/README.md",
      "packages/client/README.md",
      "CHANGELOG.md",
    ],
  },
};
/** Names in these folders that are not sources. */
const NO_SOURCES = new Set(["node_modules", "dist", "dist.new", "dist.old", "__pycache__"]);
const STAMP = ".bellhop-build";

/**
 * Builds the packages that are not up to date, side by side. An up-to-date start builds nothing and needs no network. The
 * service runs without them, so a failed build is logged and no error. Returns whether all are built.
 *
 * @param {string} root the checkout, whose own packages are installed
 * @param {readonly string[]} names of packages; all when empty
 */
export async function ensureBuilt(root, names = []) {
  const chosen = Object.keys(PACKAGES).filter((name) => names.length === 0 || names.includes(name));
  const builds = await Promise.allSettled(chosen.map((name) => ensurePackage(root, name)));
  for (const [at, { reason }] of builds.entries())
    if (reason !== undefined)
      console.error(`bellhop: ${PACKAGES[chosen[at]].title} is not built: ${reason.message}`);
  return builds.every(({ status }) => status === "fulfilled");
}

async function ensurePackage(root, name) {
  const directory = join(root, "packages", name);
  if (!existsSync(join(directory, "package-lock.json"))) return;
  if (isBuilt(root, name)) return;
  await ensureInstalled(directory, false);
  const lock = await takeLock(join(directory, ".bellhop-build"));
  try {
    // Another launch may have built it meanwhile.
    if (isBuilt(root, name)) return;
    console.error(`bellhop: building ${PACKAGES[name].title} …`);
    const sources = hashOf(root, name);
    const fresh = join(directory, "dist.new");
    rmSync(fresh, { recursive: true, force: true });
    await runBuild(root, directory, fresh, lock.alsoHeldBy);
    writeFileSync(join(fresh, STAMP), `${sources}\n`);
    replace(directory, fresh);
  } finally {
    lock.release();
  }
}

function isBuilt(root, name) {
  try {
    const stamp = readFileSync(join(root, "packages", name, "dist", STAMP), "utf8");
    return stamp.trim() === hashOf(root, name);
  } catch {
    return false;
  }
}

/** A hash of the names and contents of all sources. */
function hashOf(root, name) {
  const hash = createHash("sha256");
  for (const path of PACKAGES[name].sources.flatMap((source) => filesIn(join(root, source)))) {
    const content = readFileSync(path);
    hash.update(`${relative(root, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => !NO_SOURCES.has(name) && !name.startsWith("."))
    .sort()
    .flatMap((name) => filesIn(join(path, name)));
}

async function runBuild(root, directory, out, onStarted) {
  const node = findNode(root);
  const build = (command) =>
    new Promise((resolve, reject) => {
      // Standard output is reserved for the entry.
      const child = spawn(command, ["--disable-warning=ExperimentalWarning", "build.ts", "--out", out], {
        cwd: directory,
        stdio: ["ignore", 2, 2],
      });
      if (child.pid !== undefined) onStarted(child.pid);
      const stop = (signal) => child.kill(signal);
      for (const signal of SIGNALS) process.on(signal, stop);
      const over = () => {
        for (const signal of SIGNALS) process.off(signal, stop);
      };
      child.once("error", (error) => {
        over();
        reject(error);
      });
      child.once("exit", (code, signal) => {
        over();
        resolve(signal ?? code);
      });
    });
  // The pinned Node fails with ENOENT on a system with another C library.
  const status = await build(node).catch((error) => {
    if (error.code !== "ENOENT" || node === process.execPath) throw error;
    return build(ownNode());
  });
  if (status !== 0) throw new Error(`the build failed (${status}); its output is above`);
}

/** Swaps the directories by two renames. Between them the package counts as not built. */
function replace(directory, fresh) {
  const current = join(directory, "dist");
  const old = join(directory, "dist.old");
  rmSync(old, { recursive: true, force: true });
  if (existsSync(current)) renameSync(current, old);
  renameSync(fresh, current);
  rmSync(old, { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  try {
    await ensureInstalled(root, false);
    if (!(await ensureBuilt(root, process.argv.slice(2)))) process.exitCode = 1;
  } catch (error) {
    console.error(`bellhop: ${error.message}`);
    process.exitCode = 1;
  }
}
