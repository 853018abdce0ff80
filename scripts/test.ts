/**
 * `npm test`: the whole suite, or the files and folders that are named, on one PostgreSQL that is started for the run (or on the
 * one of TEST_DATABASE_URL). Ends with the runner's own summary and exit code.
 */
import { glob, rename } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { describeServer, findCitus, NOT_ON_CITUS } from "../test/support/citus.ts";
import { startTestServer } from "../test/support/test-server.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const SUITES = [
  "src/**/*.test.ts",
  "scripts/**/*.test.ts",
  "test/**/*.test.ts",
  "packages/*/src/**/*.test.ts",
];
/** Files at once. Each has its own process and database. On two cores others work while some wait: for the disk, time-outs, starts, takeovers. */
const CONCURRENCY = 4;
/** Started first, so that none of them is left alone at the end: the files that take longest, as a whole run prints them. */
const LONGEST = [
  "test/console/browser-operators.test.ts",
  "test/console/browser-figures.test.ts",
  "test/console/browser-pages.test.ts",
  "test/console/browser-frame.test.ts",
  "test/service/starts-again.test.ts",
  "test/service/nodes.test.ts",
  "test/platform/embedded-postgres.test.ts",
  "test/service/disk-full.test.ts",
  "test/service/failing-disk.test.ts",
  "test/operations/backup.test.ts",
  "test/apply/replay.test.ts",
  "test/service/kill.test.ts",
  "test/service/node-hangs.test.ts",
];
const LONGEST_PRINTED = 10;
/** Each of some 250 processes would strip and compile the same sources for itself. */
const COMPILED = join(root, "node_modules", ".cache", "bellhop-tests");
/** No test takes as long even on a busy machine; one that hangs fails by name instead of stopping the run. */
const TEST_TIMEOUT_MS = 240_000;
/** Each test database is distributed first, and each statement passes two servers: any-order and replay take several times as long. */
const TEST_TIMEOUT_ON_CITUS_MS = 900_000;

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const options = process.argv.slice(2).filter((argument) => argument.startsWith("-"));
const all =
  named.length > 0
    ? (await Promise.all(named.map(testsAt))).flat()
    : longestFirst(await Array.fromAsync(glob(SUITES, { cwd: root })));

const given = process.env["TEST_DATABASE_URL"];
const server = given ? undefined : await startTestServer();
if (given) console.error(await describeServer(given));
const isOnCitus = given ? (await findCitus(given)) !== undefined : false;
const files = isOnCitus ? runnableOnCitus() : all;
const hasPassed = await runFiles(server?.url ?? given ?? "");
if (server !== undefined) await (hasPassed ? server.stop() : keep());
process.exitCode = hasPassed ? 0 : 1;

/** The test file of this name, or those of the folder. */
async function testsAt(name: string): Promise<string[]> {
  const pattern = name.endsWith(".test.ts") ? name : `${name}/**/*.test.ts`;
  const found = await Array.fromAsync(glob(pattern, { cwd: root }));
  if (found.length > 0) return found;
  console.error(`${name} is neither a test file nor a folder with any.`);
  process.exit(2);
}

function longestFirst(found: readonly string[]): string[] {
  const absent = LONGEST.filter((file) => !found.includes(file));
  if (absent.length > 0) throw new Error(`LONGEST names what is no test file: ${absent.join(", ")}`);
  return [...LONGEST, ...found.filter((file) => !LONGEST.includes(file)).sort()];
}

/** Without the files that are about what is not done there; each is named, with the reason. */
function runnableOnCitus(): string[] {
  return all.filter((file) => {
    const reason = NOT_ON_CITUS[file];
    if (reason !== undefined) console.error(`${file} is not run on Citus: ${reason}.`);
    return reason === undefined;
  });
}

/** In the order of the files, which `node --test` would sort. Whether all tests passed. */
async function runFiles(databaseUrl: string): Promise<boolean> {
  Object.assign(process.env, {
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? COMPILED,
    TEST_DATABASE_URL: databaseUrl,
  });
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  // The launcher was killed outright: the run has nobody left to report to.
  process.once("disconnect", () => stop.abort());
  const tests = run({
    files,
    cwd: root,
    concurrency: CONCURRENCY,
    timeout: isOnCitus ? TEST_TIMEOUT_ON_CITUS_MS : TEST_TIMEOUT_MS,
    execArgv: options,
    signal: stop.signal,
  });
  let hasPassed = false;
  const durations = new Map<string, number>();
  tests.on("test:summary", ({ file, success, duration_ms }) => {
    if (file === undefined) hasPassed = success;
    else durations.set(relative(root, resolve(root, file)), duration_ms);
  });
  await pipeline(tests.compose(spec), process.stdout, { end: false });
  if (named.length === 0) printLongest(durations);
  process.channel?.unref();
  return hasPassed;
}

function printLongest(durations: ReadonlyMap<string, number>): void {
  const longest = [...durations].toSorted(([, one], [, other]) => other - one).slice(0, LONGEST_PRINTED);
  console.error("The files that took longest, in seconds:");
  for (const [file, ms] of longest) console.error(`${(ms / 1000).toFixed(0).padStart(5)} ${file}`);
}

/** The databases of failed test files were not dropped; the next run leaves them alone under another name. */
async function keep(): Promise<void> {
  if (server === undefined) return;
  await server.stop({ keep: true });
  const kept = join(dirname(server.directory), basename(server.directory).replace("-test-", "-kept-"));
  await rename(server.directory, kept);
  console.error(`Databases of failed tests are kept: npm run test:look -- ${kept}`);
}
