/**
 * `npm test [-- FILE|FOLDER …]`: runs all tests or the named ones on one PostgreSQL started for the run, or on that of
 * TEST_DATABASE_URL.
 */
import { glob, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeServer, findCitus, NOT_ON_CITUS } from "../test/support/citus.ts";
import { startTestServer } from "../test/support/test-server.ts";
import { type EndedFile, type TestCounts, TestProcess } from "./test-process.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const SUITES = [
  "src/**/*.test.ts",
  "scripts/**/*.test.ts",
  "test/**/*.test.ts",
  "packages/*/src/**/*.test.ts",
];
/** Concurrent files, each in a reused process. On two cores, more than two are useful because tests wait for disks, timeouts and starts. */
const CONCURRENCY = 4;
/** The slowest files start first, so that none runs alone at the end. A complete run prints their times. */
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
/** Longer than any test takes on a busy machine. A hanging test fails by name. */
const TEST_TIMEOUT_MS = 240_000;
/** On Citus, test databases are distributed and statements pass two servers, so tests take several times as long. */
const TEST_TIMEOUT_ON_CITUS_MS = 900_000;
/** A larger process is replaced, because it retains the modules of each file. */
const RESIDENT_BYTES_MAX = 700 * 1_048_576;

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
if (server !== undefined) process.env["TEST_SUPERUSER_URL"] = server.superuserUrl;
const hasPassed = await runFiles(server?.url ?? given ?? "");
if (server !== undefined) await (hasPassed ? server.stop() : keep());
process.exitCode = hasPassed ? 0 : 1;

/** The test file of this name, or those in the folder. */
async function testsAt(name: string): Promise<string[]> {
  const pattern = name.endsWith(".test.ts") ? name : `${name}/**/*.test.ts`;
  const found = await Array.fromAsync(glob(pattern, { cwd: root, exclude: ["**/node_modules"] }));
  if (found.length > 0) return found;
  console.error(`${name} is neither a test file nor a folder with any.`);
  process.exit(2);
}

function longestFirst(found: readonly string[]): string[] {
  const absent = LONGEST.filter((file) => !found.includes(file));
  if (absent.length > 0) throw new Error(`LONGEST names what is no test file: ${absent.join(", ")}`);
  return [...LONGEST, ...found.filter((file) => !LONGEST.includes(file)).sort()];
}

/** All files except those whose subject is not supported on Citus, with reasons. */
function runnableOnCitus(): string[] {
  return all.filter((file) => {
    const reason = NOT_ON_CITUS[file];
    if (reason !== undefined) console.error(`${file} is not run on Citus: ${reason}.`);
    return reason === undefined;
  });
}

/** Runs the files in order in several processes, prints their reports, and repeats failed ones at the end. Returns whether all passed. */
async function runFiles(databaseUrl: string): Promise<boolean> {
  process.env["TEST_DATABASE_URL"] = databaseUrl;
  const started = performance.now();
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  // The launcher was killed.
  process.once("disconnect", () => stop.abort());
  const ended: EndedFile[] = [];
  const failed: string[] = [];
  const waiting = [...files];
  const timeoutMs = isOnCitus ? TEST_TIMEOUT_ON_CITUS_MS : TEST_TIMEOUT_MS;
  const runWaiting = async () => {
    let testProcess: TestProcess | undefined;
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (stop.signal.aborted) return;
      testProcess ??= new TestProcess({ cwd: root, execArgv: options, signal: stop.signal });
      let report = "";
      const of = await testProcess.run(file, timeoutMs, (text) => {
        if (files.length === 1) process.stdout.write(text);
        else report += text;
      });
      ended.push(of);
      process.stdout.write(report);
      if (!of.hasPassed) failed.push(report);
      if (of.hasPassed && of.residentBytes < RESIDENT_BYTES_MAX) continue;
      testProcess.end();
      testProcess = undefined;
    }
    testProcess?.end();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runWaiting));
  process.stdout.write(failed.join(""));
  printTotals(ended, performance.now() - started);
  if (named.length === 0) printLongest(ended);
  process.channel?.unref();
  return ended.length === files.length && ended.every(({ hasPassed }) => hasPassed);
}

/** In the format of Node's test runner. */
function printTotals(ended: readonly EndedFile[], durationMs: number): void {
  const sum = (of: keyof TestCounts) => ended.reduce((total, { counts }) => total + counts[of], 0);
  const totals = {
    tests: sum("tests"),
    suites: sum("suites"),
    pass: sum("passed"),
    fail: sum("failed"),
    cancelled: sum("cancelled"),
    skipped: sum("skipped"),
    todo: sum("todo"),
    duration_ms: Math.round(durationMs),
  };
  for (const [name, value] of Object.entries(totals)) console.log(`ℹ ${name} ${value}`);
}

function printLongest(ended: readonly EndedFile[]): void {
  const longest = ended.toSorted((one, other) => other.durationMs - one.durationMs).slice(0, LONGEST_PRINTED);
  console.error("The files that took longest, in seconds:");
  for (const { file, durationMs } of longest)
    console.error(`${(durationMs / 1000).toFixed(0).padStart(5)} ${file}`);
}

/** Keeps the databases of failed test files under another name, out of the way of the next run. */
async function keep(): Promise<void> {
  if (server === undefined) return;
  await server.stop({ keep: true });
  const kept = join(dirname(server.directory), basename(server.directory).replace("-test-", "-kept-"));
  await rename(server.directory, kept);
  console.error(`Databases of failed tests are kept: npm run test:look -- ${kept}`);
}
