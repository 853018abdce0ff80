import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../platform/errors/registry.ts";
import { createLoggerTo } from "../platform/telemetry/log.ts";
import type { DataContext } from "./data-context.ts";
import { checkReady } from "./pipeline.ts";

test("refusals for lack of disk space take little space in the log, which may be on that disk", () => {
  let error: ServiceError | undefined;
  const context = { blockedReason: () => "The disk is almost full." } as DataContext;
  assert.throws(
    () => checkReady(context),
    (thrown) => {
      assert.ok(thrown instanceof ServiceError);
      assert.equal(thrown.code, "bellhop.accept.Unavailable");
      error = thrown;
      return true;
    },
  );
  let line = "";
  const log = createLoggerTo({ write: (text) => (line += text) }, "error");
  log.error({ err: error?.cause ?? error }, "request failed");
  assert.match(line, /The disk is almost full\./);
  assert.ok(line.length < 300, line);
});
