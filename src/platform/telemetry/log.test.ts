import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { prettyFactory } from "pino-pretty";
import {
  createLoggerTo,
  currentWaits,
  longestWait,
  noWaits,
  readableLines,
  runWithWaits,
  shownWaits,
} from "./log.ts";

function logged(write: (log: ReturnType<typeof createLoggerTo>) => void): string {
  let lines = "";
  const append = (line: string) => {
    lines += line;
  };
  write(createLoggerTo({ write: append }, "info"));
  return lines;
}

test("a line break or an escape code in a partner's text stays inside one JSON line", () => {
  const line = logged((log) => log.info({ propertyCode: 'A\r\n{"level":60}\u001b[31m' }, "seen"));
  assert.equal(line.trimEnd().split("\n").length, 1);
  assert.equal(JSON.parse(line).propertyCode, 'A\r\n{"level":60}\u001b[31m');
  assert.ok(!line.includes("\u001b"));
});

test("DEL in a line of ASCII is escaped, although JSON leaves it as it is", () => {
  const line = logged((log) => log.info({ correlationId: "A\u007fB" }, "seen"));
  assert.equal(JSON.parse(line).correlationId, "A\u007fB");
  assert.ok(!line.includes("\u007f"));
});

/** C0, DEL, C1, soft hyphen, bidi, zero width, separators, a tag of plane 14, half of a pair. */
const INVISIBLE =
  "\u0007\u001b[31m\u007f\u0085\u009b31m\u00ad\u202e\u2066\u200b\ufeff\u2028\u2029\u{e0041}\ud800";

test("no invisible character of an outside text reaches the log, whatever the field", () => {
  const line = logged((log) => {
    log.child({ node: INVISIBLE }).info({ correlationId: INVISIBLE, [INVISIBLE]: 1 }, INVISIBLE);
    log.error({ err: new Error(INVISIBLE) });
  });
  assert.doesNotMatch(line.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  assert.equal(line.trimEnd().split("\n").length, 2);
  const { node, correlationId, msg } = JSON.parse(line.split("\n", 1)[0] ?? "");
  assert.deepEqual([node, correlationId, msg], [INVISIBLE, INVISIBLE, INVISIBLE]);
});

test("coloured lines show escapes of invisible characters instead of executing them", () => {
  let shown = "";
  const prettify = prettyFactory({ singleLine: true });
  const pretty = {
    write(line: string) {
      shown += prettify(line);
    },
  };
  const log = createLoggerTo(readableLines(pretty), "info");
  log.info({ correlationId: INVISIBLE, path: "C:\\u0041" }, `from ${INVISIBLE}`);
  assert.doesNotMatch(shown.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  assert.match(shown, /from \\u0007\\u001b\[31m/);
});

test("secrets are redacted, up to three levels deep", () => {
  const line = logged((log) =>
    log.info({
      password: "s3cret-1",
      headers: { authorization: "Bearer s3cret-2", "set-cookie": "s3cret-3" },
      request: { headers: { authorization: "s3cret-4", "proxy-authorization": "s3cret-5" } },
      body: { client_secret: "s3cret-6" },
    }),
  );
  assert.ok(!line.includes("s3cret"), line);
});

test("redacting changes neither the logged object nor other values, also in arrays and child loggers", () => {
  const fields = { tries: [{ token: "s3cret-1", at: 1 }], user: { name: "ops", password: "s3cret-2" } };
  const line = logged((log) => log.child({ secret: "s3cret-3", node: "n1" }).info(fields, "tried"));
  assert.ok(!line.includes("s3cret"), line);
  const { tries, user, node } = JSON.parse(line);
  assert.deepEqual(
    [tries, user, node],
    [[{ token: "[redacted]", at: 1 }], { name: "ops", password: "[redacted]" }, "n1"],
  );
  assert.equal(fields.user.password, "s3cret-2");
});

test("a database error keeps its code and loses the data that it quotes, also as a cause", () => {
  const database = Object.assign(new Error('invalid input syntax for type date: "Ms Guest"'), {
    severity: "ERROR",
    code: "22007",
    detail: "Key (name)=(Ms Guest) already exists.",
    where: "unnamed portal parameter $1 = 'Ms Guest'",
  });
  for (const error of [database, new Error("append failed", { cause: database })]) {
    const line = logged((log) => log.error({ err: error }));
    assert.ok(!line.includes("Ms Guest"), line);
    assert.ok(line.includes("22007"), line);
  }
});

test("only known fields of an error are logged, not pg's connection object", () => {
  const error = Object.assign(new Error("lost"), {
    code: "57P01",
    client: { password: "s3cret", secretKey: 530462000 },
  });
  const { err } = JSON.parse(logged((log) => log.warn({ err: error }, "an idle connection was lost")));
  assert.deepEqual(Object.keys(err).sort(), ["code", "message", "stack", "type"]);
});

test("a value that is not an error can be logged as one", () => {
  assert.equal(JSON.parse(logged((log) => log.warn({ err: "a string" }, "odd"))).err, "a string");
});

test("the longest wait of a request is named, or its own work if that took longer", () => {
  const waits = { ...noWaits(), body: 20, flush: 90, database: 60 };
  assert.equal(longestWait(waits, 200), "flush");
  assert.equal(longestWait(waits, 300), "work");
  assert.equal(longestWait({ ...waits, asked: 5_000 }, 5_200), "flush");
  assert.equal(longestWait(noWaits(), 10), "work");
});

test("existing waits are shown to a tenth of a millisecond", () => {
  assert.deepEqual(shownWaits({ ...noWaits(), body: 1.26, flush: 0.01 }), { body: 1.3 });
});

test("the waits of a request are attributed to it in all asynchronous work, and to no other request", async () => {
  const [one, other] = [noWaits(), noWaits()];
  const found: unknown[] = [];
  for (const waits of [one, other])
    runWithWaits(
      waits,
      () => void Promise.resolve().then(() => setImmediate(() => found.push(currentWaits()))),
    );
  await new Promise((resolve) => setTimeout(resolve, 0));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([found[0] === one, found[1] === other, currentWaits()], [true, true, undefined]);
});

/** Takes nothing: every write to it ends as on a full disk. */
const FULL = "/dev/full";

async function assertGoesOn(pretty: boolean): Promise<void> {
  const logging = `
    const { createLogger } = await import(${JSON.stringify(new URL("./log.ts", import.meta.url).href)});
    const log = createLogger({ level: "info", pretty: ${pretty} });
    for (let at = 0; at < 200; at += 1) {
      log.warn({ text: "x".repeat(20_000) }, "a line");
      await new Promise(setImmediate);
    }
    process.exit(7);`;
  const full = openSync(FULL, "w");
  const child = spawn(process.execPath, ["--input-type=module", "--eval", logging], {
    stdio: ["ignore", full, "pipe"],
  });
  closeSync(full);
  let errors = "";
  child.stderr?.on("data", (text) => {
    errors += text;
  });
  const [code] = await once(child, "exit");
  assert.deepEqual({ code, errors }, { code: 7, errors: "" });
}

const fullOnly = { skip: !existsSync(FULL) && `there is no ${FULL} here` };

test("a process whose log cannot be written continues, and stops on request", fullOnly, () =>
  assertGoesOn(false),
);

test("a process whose pretty log cannot be written continues, too", fullOnly, () => assertGoesOn(true));

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
