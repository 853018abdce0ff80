import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { Progress } from "../../src/cli/progress.ts";
import { runCommand } from "../../src/cli.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const CLEAR = "\r\u001b[2K";

/** A progress that writes lines, and those lines. */
function linesOf(): { readonly progress: Progress; readonly lines: string[] } {
  const lines: string[] = [];
  const progress = new Progress({ out: assert.fail, err: (line) => void lines.push(line) }, false);
  progress.begin("bellhop backup", "write a backup");
  return { progress, lines };
}

describe("the progress of a command", () => {
  test("is a line with the operation, its share, elapsed and remaining time", async () => {
    const { progress, lines } = linesOf();
    progress.show("copying the tables", () => 0.5);
    await until(async () => lines.length > 0, 60_000);
    progress.end();
    assert.match(
      lines[0] ?? "",
      /^bellhop backup: █{12}░{12} 50 % {2}copying the tables {2}\d+ s {2}\d+ s left$/,
    );
  });

  test("names each new wait before the next line is due, and the step again once it is over", async () => {
    const { progress, lines } = linesOf();
    progress.wait("the service is away.", { ms: 60_000 });
    await until(async () => lines.length === 1, 60_000);
    progress.wait("a lock is held by \u001b[31mpsql.");
    await until(async () => lines.length === 2, 60_000);
    progress.resume();
    await until(async () => lines.length === 3, 60_000);
    progress.end();
    assert.match(lines[0] ?? "", /^bellhop backup: waiting (\d+ s|1 min 0 s): the service is away\.$/);
    assert.match(lines[1] ?? "", /^bellhop backup: waiting.*: a lock is held by \\u001b\[31mpsql\.$/);
    assert.match(lines[2] ?? "", /^bellhop backup: write a backup {2}\d+ s$/);
  });

  test("rewrites one line of the terminal, and removes it at the end", async (t) => {
    const drawn: string[] = [];
    const write = (text: string | Uint8Array) => drawn.push(String(text)) > 0;
    const progress = new Progress({ out: assert.fail, err: assert.fail }, true);
    const stub = t.mock.method(process.stderr, "write", write);
    const { columns } = process.stderr;
    process.stderr.columns = 0;
    progress.begin("bellhop replay", "rebuild the state, whole,");
    try {
      await until(async () => drawn.length > 1, 60_000);
      progress.end();
    } finally {
      stub.mock.restore();
      process.stderr.columns = columns;
    }
    assert.match(drawn[0]?.slice(CLEAR.length) ?? "", /^rebuild the state, whole, {2}\d+ s$/);
    assert.equal(drawn.at(-1), CLEAR);
  });
});

describe("a command that a lock holds up", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  test("names the session that holds it, on standard error", async () => {
    const holder = new pg.Client({ connectionString: database.url, application_name: "an analyst" });
    await holder.connect();
    const [out, err]: [string[], string[]] = [[], []];
    try {
      const streams = {
        out: (line: string) => void out.push(line),
        err: (line: string) => void err.push(line),
      };
      const environment = { DATABASE_URL: database.url };
      assert.equal(await runCommand(["setting", "list"], environment, streams), 0);
      await holder.query("begin; lock table bellhop.property_setting in access exclusive mode");
      const running = runCommand(["setting", "list", "--json"], environment, streams);
      await until(async () => err.some((line) => line.includes("a lock is held")), 60_000);
      await holder.query("rollback");
      assert.equal(await running, 0);
    } finally {
      await holder.end();
    }
    const named = err.find((line) => line.includes("a lock is held")) ?? "";
    assert.match(
      named,
      /^bellhop setting list: waiting.*: a lock is held by an analyst \(process \d+ of the database\)\.$/,
    );
    assert.deepEqual(JSON.parse(out.at(-1) ?? ""), { items: [] });
  });
});
