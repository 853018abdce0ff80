import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"];

/**
 * Installs the packages of the lock file unless they are there. A stamp in node_modules says for which lock file they
 * were installed, and whether the development packages came along; without one (somebody ran npm) npm's own record is
 * compared. So nothing is installed twice and an up-to-date start uses no network. Throws when npm fails.
 *
 * @param {string} root the checkout
 * @param {boolean} dev whether development packages are needed
 * @returns {Promise<boolean>} whether the installation is new
 */
export async function ensureInstalled(root, dev) {
  if (isStamped(root, dev)) return false;
  const lock = await takeLock(join(root, ".bellhop-install"));
  try {
    // Another launch may have installed meanwhile.
    if (isStamped(root, dev)) return false;
    const state = compare(root, dev);
    if (state !== "complete") await runNpm(root, dev, state, lock.alsoHeldBy);
    stamp(root, dev);
    return true;
  } finally {
    lock.release();
  }
}

const stampPath = (root) => join(root, "node_modules", ".bellhop-install");

function lockFileHash(root) {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

function isStamped(root, dev) {
  const [hash, extent] = readIfPresent(stampPath(root))?.trim().split(" ") ?? [];
  return hash === lockFileHash(root) && (extent === "full" || !dev);
}

function stamp(root, dev) {
  const extent = dev || compare(root, true) === "complete" ? "full" : "production";
  writeFileSync(stampPath(root), `${lockFileHash(root)} ${extent}\n`);
}

/** Compares npm's own record with the lock file: "complete", "lacking" (packages are missing, such as the development ones) or "wrong". */
function compare(root, dev) {
  const record = readIfPresent(join(root, "node_modules", ".package-lock.json"));
  if (record === undefined) return "wrong";
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const installed = JSON.parse(record).packages;
  for (const [path, { integrity, version }] of Object.entries(installed)) {
    if (wanted[path]?.version !== version || wanted[path]?.integrity !== integrity) return "wrong";
    if (!existsSync(join(root, path, "package.json"))) return "wrong";
  }
  const isMissing = ([path, entry]) => path !== "" && !(path in installed) && isWanted(entry, dev);
  return Object.entries(wanted).some(isMissing) ? "lacking" : "complete";
}

/** Whether a package is needed: optional ones depend on the platform, development ones on `dev`. */
function isWanted(entry, dev) {
  if (entry.dev || entry.devOptional) return dev && !entry.optional;
  return !entry.optional || (fits(entry.os, process.platform) && fits(entry.cpu, process.arch));
}

function fits(names, name) {
  return names === undefined || [names].flat().includes(name);
}

/**
 * Runs `npm install --no-save` if packages are only missing, because a service may be running on the installed ones;
 * `npm ci` would empty node_modules first.
 */
async function runNpm(root, dev, state, onStarted) {
  const action = state === "lacking" ? ["install", "--no-save"] : ["ci"];
  const extent = dev ? "--include=dev" : "--omit=dev";
  const name = /packages[\\/](\w+)$/.exec(root)?.[1];
  const what = name === undefined ? "packages" : `packages of the ${name}`;
  console.error(`bellhop: installing ${what} (npm ${action[0]} ${extent}) …`);
  const [command, ...prefix] = npmCommand();
  // Warnings concern the Node that runs npm, not the one that runs the packages. Errors are shown.
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier"];
  const child = spawn(command, [...prefix, ...action, extent, ...quiet], {
    cwd: root,
    env: { ...process.env, PATH: pathWithoutOurs() },
    // Standard output is reserved for the entry, whose commands print JSON there.
    stdio: ["ignore", 2, 2],
  });
  if (child.pid !== undefined) onStarted(child.pid);
  const stop = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, stop);
  const status = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(signal ?? code));
  });
  for (const signal of SIGNALS) process.off(signal, stop);
  if (status !== 0) throw new Error(`npm ${action[0]} failed with exit code ${status}; see its output above`);
}

/** The npm that started this process, run by its Node; otherwise the npm on the path. */
function npmCommand() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  if (npm?.endsWith(".js") && existsSync(npm) && node !== undefined && existsSync(node)) return [node, npm];
  return ["npm"];
}

/** Within `npm run` the pinned Node is first on the path, and `npm ci` would remove it while npm runs. */
function pathWithoutOurs() {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .filter((directory) => !directory.endsWith(join("node_modules", ".bin")))
    .join(delimiter);
}

/**
 * Keeps concurrent launches from installing at once, by a file with the names of its holders. A stale file is renamed
 * and checked again, so that two launches cannot remove each other's.
 */
export async function takeLock(path) {
  const mine = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;
  writeFileSync(mine, `${nameOf(process.pid)}\n`);
  let said = false;
  try {
    while (!tryLink(mine, path)) {
      const holders = readIfPresent(path);
      if (holders !== undefined && !holders.trim().split(" ").some(isAlive)) removeStale(path, mine, holders);
      else if (!said) {
        console.error("bellhop: waiting for another installation …");
        said = true;
      }
      await delay(100);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  const release = () => rmSync(path, { force: true });
  process.once("exit", release);
  // npm continues if only this process is killed, so the lock names it, too. Written in place, it would be empty for a moment, and stale.
  const alsoHeldBy = (pid) => {
    writeFileSync(mine, `${nameOf(process.pid)} ${nameOf(pid)}\n`);
    renameSync(mine, path);
  };
  return { release, alsoHeldBy };
}

function removeStale(path, mine, holders) {
  const aside = `${mine}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readIfPresent(aside) !== holders) tryLink(aside, path);
  rmSync(aside, { force: true });
}

/** Unlike rename, link fails if the name exists. */
function tryLink(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** A process's id and start time (if known), because ids are reused after a kill or restart. */
function nameOf(pid) {
  // The program's name may contain spaces and parentheses.
  const began = readIfPresent(`/proc/${pid}/stat`)?.split(") ").at(-1).split(" ")[19] ?? "";
  return `${pid}:${began}`;
}

function isAlive(holder) {
  const [pid] = holder.split(":");
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if (error.code === "ESRCH") return false;
  }
  return nameOf(pid) === holder;
}

function readIfPresent(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
