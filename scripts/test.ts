/**
 * `npm test`: the whole suite, or the files and folders that are named, on one PostgreSQL that is started for the run (or on the
 * one of TEST_DATABASE_URL). Ends with the runner's own summary and exit code.
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
/** Files at once, each in a process that others have had before it. On two cores others work while some wait: for the disk, time-outs, starts, takeovers. */
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
/** No test takes as long even on a busy machine; one that hangs fails by name instead of stopping the run. */
const TEST_TIMEOUT_MS = 240_000;
/** Each test database is distributed first, and each statement passes two servers: any-order and replay take several times as long. */
const TEST_TIMEOUT_ON_CITUS_MS = 900_000;
/** A process that has grown beyond this is replaced, as it keeps what each file has loaded. */
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
const hasPassed = await runFiles(server?.url ?? given ?? "");
if (server !== undefined) await (hasPassed ? server.stop() : keep());
process.exitCode = hasPassed ? 0 : 1;

/** The test file of this name, or those of the folder. */
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

/** Without the files that are about what is not done there; each is named, with the reason. */
function runnableOnCitus(): string[] {
  return all.filter((file) => {
    const reason = NOT_ON_CITUS[file];
    if (reason !== undefined) console.error(`${file} is not run on Citus: ${reason}.`);
    return reason === undefined;
  });
}

/** Runs the files in their order, in so many processes, and prints each one's report; those of failed ones again at the end. Whether all passed. */
async function runFiles(databaseUrl: string): Promise<boolean> {
  process.env["TEST_DATABASE_URL"] = databaseUrl;
  const started = performance.now();
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  // The launcher was killed outright: the run has nobody left to report to.
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

/** As the runner of Node prints them. */
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

/** The databases of failed test files were not dropped; the next run leaves them alone under another name. */
async function keep(): Promise<void> {
  if (server === undefined) return;
  await server.stop({ keep: true });
  const kept = join(dirname(server.directory), basename(server.directory).replace("-test-", "-kept-"));
  await rename(server.directory, kept);
  console.error(`Databases of failed tests are kept: npm run test:look -- ${kept}`);
}
