import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { test } from "node:test";

const THREADS = 3;
const LINES = 100;

/** Each thread writes long lines to the process's standard output, in turn with the others. */
const WRITING = `
  import { Worker, isMainThread, workerData } from "node:worker_threads";
  if (isMainThread) {
    const turns = new SharedArrayBuffer(4);
    for (let thread = 0; thread < ${THREADS}; thread += 1) new Worker(process.argv[1], { workerData: { turns, thread } });
  } else {
    const { createLogger } = await import(${JSON.stringify(new URL("./log.ts", import.meta.url).href)});
    const log = createLogger({ level: "info", pretty: false, turns: workerData.turns });
    for (let at = 0; at < ${LINES}; at += 1) log.info({ thread: workerData.thread, at, text: "x".repeat(20_000) }, "line");
  }
`;

test("lines of several threads arrive whole and in the order of each, also when their reader is slow", async (t) => {
  const directory = await mkdtemp(`${tmpdir()}/bellhop-turns-`);
  t.after(() => rm(directory, { recursive: true }));
  await writeFile(`${directory}/write.mjs`, WRITING);
  const child = spawn(process.execPath, [`${directory}/write.mjs`], { stdio: ["ignore", "pipe", "inherit"] });
  const next = Array.from({ length: THREADS }, () => 0);
  for await (const line of createInterface({ input: child.stdout })) {
    const { thread, at } = JSON.parse(line) as { thread: number; at: number };
    assert.equal(at, next[thread]);
    next[thread] = at + 1;
  }
  assert.deepEqual(
    next,
    Array.from({ length: THREADS }, () => LINES),
  );
});
