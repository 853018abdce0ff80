/**
 * `npm test`: the whole suite, or the files that are named, on one PostgreSQL that is started for the run (or on the
 * one of TEST_DATABASE_URL). Ends with the runner's own summary and exit code.
 */
import { spawn } from "node:child_process";
import { glob, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
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
const CONCURRENCY = 6;
/** Each of some 250 processes would strip and compile the same sources for itself. */
const COMPILED = join(root, "node_modules", ".cache", "bellhop-tests");
/** No test or suite takes as long even on a busy machine (all that is looked at in a browser: 76 s); one that hangs fails by name instead of stopping the run. */
const TEST_TIMEOUT_MS = 240_000;
/** Each test database is distributed first, and each statement passes two servers: any-order and replay take several times as long. */
const TEST_TIMEOUT_ON_CITUS_MS = 900_000;

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const options = process.argv.slice(2).filter((argument) => argument.startsWith("-"));
const all = named.length > 0 ? named : (await Array.fromAsync(glob(SUITES, { cwd: root }))).sort();

const given = process.env["TEST_DATABASE_URL"];
const server = given ? undefined : await startTestServer();
if (given) console.error(await describeServer(given));
const isOnCitus = given ? (await findCitus(given)) !== undefined : false;
const files = isOnCitus ? runnableOnCitus() : all;
// Without files the runner would look for its own.
const status = files.length === 0 ? 0 : await run(server?.url ?? given ?? "");
if (server !== undefined) await (status === 0 ? server.stop() : keep());
process.exitCode = status;

/** Without the files that are about what is not done there; each is named, with the reason. */
function runnableOnCitus(): string[] {
  return all.filter((file) => {
    const reason = NOT_ON_CITUS[file];
    if (reason !== undefined) console.error(`${file} is not run on Citus: ${reason}.`);
    return reason === undefined;
  });
}

function run(databaseUrl: string): Promise<number> {
  const runner = spawn(
    process.execPath,
    [
      "--test",
      `--test-concurrency=${CONCURRENCY}`,
      `--test-timeout=${isOnCitus ? TEST_TIMEOUT_ON_CITUS_MS : TEST_TIMEOUT_MS}`,
      ...options,
      ...files,
    ],
    {
      cwd: root,
      stdio: "inherit",
      env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, TEST_DATABASE_URL: databaseUrl },
    },
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => runner.kill(signal));
  // The launcher was killed outright: the run has nobody left to report to.
  process.once("disconnect", () => runner.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    runner.once("error", reject);
    runner.once("exit", (code) => {
      process.channel?.unref();
      resolve(code ?? 1);
    });
  });
}

/** The databases of failed test files were not dropped; the next run leaves them alone under another name. */
async function keep(): Promise<void> {
  if (server === undefined) return;
  await server.stop({ keep: true });
  const kept = join(dirname(server.directory), basename(server.directory).replace("-test-", "-kept-"));
  await rename(server.directory, kept);
  console.error(`Databases of failed tests are kept: npm run test:look -- ${kept}`);
}
