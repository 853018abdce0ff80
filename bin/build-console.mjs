import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode, ownNode } from "./find-node.mjs";
import { ensureInstalled, takeLock } from "./install.mjs";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"];
/** What lies in packages/console and is not what it is built of. */
const NO_SOURCES = new Set(["node_modules", "dist", "dist.new", "dist.old"]);
const STAMP = ".bellhop-build";

/**
 * Builds the console (packages/console, with packages of its own) unless what is there was built of just these sources. So
 * nothing is built twice, and an up-to-date start costs some milliseconds and no network. Throws when it cannot be built:
 * the service runs without it.
 *
 * @param {string} root the checkout, whose own packages are installed
 */
export async function ensureConsoleBuilt(root) {
  const directory = join(root, "packages", "console");
  if (!existsSync(join(directory, "package-lock.json"))) return;
  if (isBuilt(directory)) return;
  await ensureInstalled(directory, false);
  const lock = await takeLock(join(directory, ".bellhop-build"));
  try {
    // Another launch may have built meanwhile.
    if (isBuilt(directory)) return;
    console.error("bellhop: building the console …");
    const sources = hashOf(directory);
    const fresh = join(directory, "dist.new");
    rmSync(fresh, { recursive: true, force: true });
    await runBuild(root, directory, fresh, lock.alsoHeldBy);
    writeFileSync(join(fresh, STAMP), `${sources}\n`);
    replace(directory, fresh);
  } finally {
    lock.release();
  }
}

function isBuilt(directory) {
  try {
    return readFileSync(join(directory, "dist", STAMP), "utf8").trim() === hashOf(directory);
  } catch {
    return false;
  }
}

/** Of the names and contents of all sources. */
function hashOf(directory) {
  const hash = createHash("sha256");
  for (const path of sourcesIn(directory)) {
    const content = readFileSync(path);
    hash.update(`${relative(directory, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function sourcesIn(directory) {
  return readdirSync(directory)
    .filter((name) => !NO_SOURCES.has(name) && !name.startsWith("."))
    .sort()
    .flatMap((name) => {
      const path = join(directory, name);
      return statSync(path).isDirectory() ? sourcesIn(path) : [path];
    });
}

async function runBuild(root, directory, out, onStarted) {
  const node = findNode(root);
  const build = (command) =>
    new Promise((resolve, reject) => {
      // Standard output belongs to the entry.
      const child = spawn(command, ["build.ts", "--out", out], { cwd: directory, stdio: ["ignore", 2, 2] });
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
  // A system whose C library the pinned Node was not built for cannot run it, and says that there is no such file.
  const status = await build(node).catch((error) => {
    if (error.code !== "ENOENT" || node === process.execPath) throw error;
    return build(ownNode());
  });
  if (status !== 0) throw new Error(`the console's build failed (${status}); its words are above`);
}

/** A running service reads files by names of its own: between the two renames it sees a console that is not built. */
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
    await ensureConsoleBuilt(root);
  } catch (error) {
    console.error(`bellhop: ${error.message}`);
    process.exitCode = 1;
  }
}
