/**
 * What `npm start`, `npm test` and `npm run bellhop` run first. It needs nothing but Node 20: installs the packages
 * when they are missing or older than the lock file, builds the console and the documentation for whoever serves them, then hands over to the
 * pinned Node that came with them.
 *
 * Usage: node bin/launch.mjs [--dev] <entry.ts> [arguments]
 *   --dev   the development packages are needed too
 *
 * - Standard output is the entry's alone; npm's goes to standard error.
 * - SIGTERM, SIGINT and SIGHUP are passed on, and the exit code (or the signal) is the entry's. From a terminal the
 *   entry gets SIGINT twice, once from the terminal itself, and has to take that for one.
 * - An entry that said `listening` on its IPC channel is a service: when it ends with an error and nobody asked for that, it is
 *   started again, after half a second at first and half a minute at most.
 * - The entry must not outlive this process: it has an IPC channel whose `disconnect` signals that this process is
 *   gone, however it died. If npm itself is killed, this process notices and ends the entry.
 * - The entry's working directory is where the user called npm (INIT_CWD), so relative paths mean what they say.
 *   DATA_DIR is made absolute from there; without it, it is `data` in the checkout, from wherever npm was called.
 */
import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureBuilt } from "./build-packages.mjs";
import { findNode, ownNode } from "./find-node.mjs";
import { ensureInstalled } from "./install.mjs";
import { processEnvironment } from "./process-environment.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"];
const AGAIN_MS_MIN = 500;
const AGAIN_MS_MAX = 30_000;
/** After running this long, the service counts as started, so its next restart is not delayed much. */
const RAN_WELL_MS = 60_000;

const options = process.argv.slice(2);
const dev = options[0] === "--dev";
const [entry, ...entryArguments] = dev ? options.slice(1) : options;
if (entry === undefined) fail("usage: node bin/launch.mjs [--dev] <entry.ts> [arguments]");

let isNew = false;
try {
  isNew = await ensureInstalled(root, dev);
} catch (error) {
  fail(error.message);
}
const node = nodeOr(() => findNode(root));
await Promise.all([buildPages(), isNew && warmCompileCache()]);
run(node);

/**
 * Only the service, tests and checks need the console and documentation. The service does not wait for the
 * documentation: /docs returns 503 until it is built.
 */
async function buildPages() {
  const looksAtPages = [
    "scripts/test.ts",
    "scripts/check.ts",
    "scripts/hostile-schemathesis.ts",
    "test/console/take-screenshots.ts",
    "bench/console.ts",
  ];
  if (looksAtPages.includes(entry)) await ensureBuilt(root);
  if (entry !== "src/main.ts" || entryArguments[0] !== "serve") return;
  await ensureBuilt(root, ["console"]);
  void ensureBuilt(root, ["docs"]);
}

function nodeOr(find) {
  try {
    return find();
  } catch (error) {
    return fail(error.message);
  }
}

/** Without it the service only takes more memory, so failures are ignored. */
function warmCompileCache() {
  const env = { ...processEnvironment(root), ...process.env };
  const warming = spawn(node, [join(root, "bin", "warm-compile-cache.mjs")], { env, stdio: "ignore" });
  return new Promise((resolve) => warming.once("error", resolve).once("exit", resolve));
}

/** Starts the entry. `again`: how long a service that has listened already waited for this start. */
function run(node, again = 0) {
  const startedAt = Date.now();
  let isService = again > 0;
  let isToStop = false;
  const workingDirectory = callersDirectory();
  const child = spawn(node, [resolve(root, entry), ...entryArguments], {
    cwd: workingDirectory,
    env: {
      ...processEnvironment(root),
      ...process.env,
      DATA_DIR: dataDirectory(workingDirectory),
    },
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  const stop = (signal) => {
    isToStop = true;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const watch = watchNpm(() => stop("SIGTERM"));
  child.on("message", (message) => {
    isService ||= message === "listening";
  });
  child.once("error", (error) => {
    clearInterval(watch);
    // The pinned Node fails with ENOENT on a system with another C library.
    if (node === process.execPath || error.code !== "ENOENT")
      fail(`${node} does not start: ${error.message}`);
    run(nodeOr(ownNode));
  });
  child.once("exit", (code, signal) => {
    clearInterval(watch);
    for (const passedOn of SIGNALS) process.removeAllListeners(passedOn);
    if (isService && !isToStop && code !== 0) {
      const wait = Date.now() - startedAt > RAN_WELL_MS ? 0 : again * 2;
      const delay = Math.min(AGAIN_MS_MAX, Math.max(AGAIN_MS_MIN, wait));
      console.error(`bellhop: the service ended (${signal ?? code}). It starts again in ${delay / 1000} s.`);
      setTimeout(() => run(node, delay), delay);
      return;
    }
    if (signal === null) process.exit(code);
    // Ends by the same signal as the entry.
    process.kill(process.pid, signal);
  });
}

/** npm runs scripts in the checkout and sets INIT_CWD to the caller's directory. Ignores that of an outer npm. */
function callersDirectory() {
  const ofThisCheckout =
    process.env.npm_package_json === join(root, "package.json") && process.cwd() === root;
  return ofThisCheckout && process.env.INIT_CWD ? process.env.INIT_CWD : process.cwd();
}

function dataDirectory(workingDirectory) {
  return process.env.DATA_DIR ? resolve(workingDirectory, process.env.DATA_DIR) : join(root, "data");
}

/** Detects a killed npm by a changed parent process. A shell may end normally, so only npm is watched. */
function watchNpm(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, 250);
  return timer;
}

function fail(message) {
  console.error(`bellhop: ${message}`);
  process.exit(1);
}
