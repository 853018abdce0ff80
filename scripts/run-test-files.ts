/**
 * Runs test files for a TestProcess in one process, because loading and compiling the service takes longer than most
 * files' tests. Each file has its own root suite, and ends once nothing is running.
 */
import asyncHooks from "node:async_hooks";
import { Readable } from "node:stream";
import { spec } from "node:test/reporters";
import { inspect } from "node:util";
import { noteFailedTest } from "../test/support/failed-tests.ts";
import type { TestCounts, TestOrder, TestWord } from "./test-process.ts";

// The runner tracks every promise to attribute errors to tests, at up to half of the CPU time. The file fails anyway.
const { createHook } = asyncHooks;
asyncHooks.createHook = (hooks) => createHook({ ...hooks, trackPromises: false });
const { run } = await import("node:test");
asyncHooks.createHook = createHook;

const UNAWAITED = ["uncaughtException", "unhandledRejection"];
const TOTAL = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;
const environment = { ...process.env };
const directory = process.cwd();

/** Without the totals, which are for all files. */
async function* withoutTotals(events: ReturnType<typeof run>): AsyncGenerator<unknown> {
  for await (const event of events) {
    if (event.type !== "test:diagnostic" || !TOTAL.test(event.data.message)) yield event;
  }
}

function restoreProcess(): void {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  process.chdir(directory);
}

async function runFile({ file, timeoutMs }: TestOrder, say: (word: TestWord) => void): Promise<void> {
  const sayUnawaited = (error: unknown) => {
    noteFailedTest();
    say({ text: `✖ nobody awaited ${inspect(error)}\n` });
  };
  for (const event of UNAWAITED) process.on(event, sayUnawaited);
  const tests = run({ files: [file], isolation: "none", cwd: directory, timeout: timeoutMs });
  let hasPassed = false;
  let counts: TestCounts | undefined;
  tests.on("test:complete", ({ details }) => {
    if (details.passed === false) noteFailedTest();
  });
  tests.on("test:summary", (summary) => {
    hasPassed = summary.success;
    // Node's types lack `failed`.
    counts = summary.counts as typeof summary.counts & TestCounts;
  });
  const report = Readable.from(withoutTotals(tests)).compose(spec);
  for await (const text of report) say({ text: String(text) });
  if (counts === undefined) throw new Error(`The tests of ${file} have no summary.`);
  for (const event of UNAWAITED) process.off(event, sayUnawaited);
  restoreProcess();
  // An error after the last test fails the file.
  const isOfFile = !hasPassed && counts.failed + counts.cancelled === 0;
  if (isOfFile) counts = { ...counts, tests: counts.tests + 1, failed: 1 };
  say({ result: { hasPassed, counts, residentBytes: process.memoryUsage.rss() } });
}

// Each root suite listens for the end of the process.
process.setMaxListeners(0);
process.on("message", (order: TestOrder) => {
  // The channel must not keep a file from ending.
  process.channel?.unref();
  void runFile(order, (word) => process.send?.(word)).finally(() => process.channel?.ref());
});
process.once("disconnect", () => process.exit());
