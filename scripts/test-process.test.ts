import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { TestProcess } from "./test-process.ts";

const FILES = {
  "passes.test.mjs": `
    import { after, test } from "node:test";
    after(() => console.error("its own hook"));
    test("a setting of another file", (t) => {
      t.assert.equal(process.env.LEFT_BEHIND, undefined);
      process.env.LEFT_BEHIND = "1";
    });`,
  "passes-too.test.mjs": `
    import { suite, test } from "node:test";
    suite("of two", () => {
      test("one", (t) => t.assert.equal(process.env.LEFT_BEHIND, undefined));
      test("another", (t) => t.skip("for a reason"));
    });`,
  "fails.test.mjs": `
    import { test } from "node:test";
    test("fails", () => { throw new Error("as it should"); });
    test("passes", () => {});`,
  "fails-late.test.mjs": `
    import { test } from "node:test";
    test("passes", () => void setTimeout(() => { throw new Error("too late"); }, 5));`,
  "fails-beside.test.mjs": `
    import { test } from "node:test";
    import { setTimeout as delay } from "node:timers/promises";
    test("passes", async () => {
      void delay(5).then(() => { throw new Error("beside it"); });
      await delay(20);
    });`,
  "cannot-be-loaded.test.mjs": `throw new Error("before any test");`,
  "dies.test.mjs": `
    import { test } from "node:test";
    test("dies", () => process.exit(3));`,
} as const;

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "bellhop-test-files-"));
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(directory, name), text);
});
after(() => rm(directory, { recursive: true, force: true }));

/** Runs files in one process and returns the report and the counts of each. */
async function runFiles(...names: readonly (keyof typeof FILES)[]) {
  const testProcess = new TestProcess({ cwd: directory, execArgv: [] });
  const ended = [];
  for (const name of names) {
    let report = "";
    const { counts, hasPassed } = await testProcess.run(join(directory, name), 60_000, (text) => {
      report += text;
    });
    ended.push({ report, hasPassed, ...counts });
  }
  testProcess.end();
  return ended;
}

test("files of one process have suites and settings of their own", async () => {
  const [first, second] = await runFiles("passes.test.mjs", "passes-too.test.mjs");
  assert.match(first?.report ?? "", /✔ a setting of another file/);
  assert.doesNotMatch(first?.report ?? "", /ℹ tests/);
  assert.deepEqual([first?.hasPassed, first?.tests, first?.passed], [true, 1, 1]);
  assert.match(second?.report ?? "", /of two.*one.*another/s);
  assert.deepEqual(
    [second?.hasPassed, second?.tests, second?.passed, second?.skipped, second?.suites],
    [true, 2, 1, 1, 1],
  );
});

for (const [name, word, passed] of [
  ["fails.test.mjs", /Error: as it should/, 1],
  ["fails-late.test.mjs", /too late/, 1],
  ["fails-beside.test.mjs", /nobody awaited Error: beside it\n.*fails-beside/s, 1],
  ["cannot-be-loaded.test.mjs", /before any test/, 0],
  ["dies.test.mjs", /its process ended by 3/, 0],
] as const) {
  test(`${name} is a failed file with a reason`, async () => {
    const [file] = await runFiles(name);
    assert.deepEqual([file?.hasPassed, file?.failed, file?.passed], [false, 1, passed]);
    assert.match(file?.report ?? "", word);
  });
}
