import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { test } from "node:test";

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

const options = { skip: !existsSync(FULL) && `there is no ${FULL} here` };

test("a process whose log cannot be written continues, and stops on request", options, () =>
  assertGoesOn(false),
);

test("a process whose pretty log cannot be written continues, too", options, () => assertGoesOn(true));
