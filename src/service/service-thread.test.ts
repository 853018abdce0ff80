import assert from "node:assert/strict";
import { test } from "node:test";
import { failureText } from "../cli/failure-text.ts";
import { threadEnd, threadFailure } from "./service-thread.ts";

const failed = (code: string) => Object.assign(new Error("EAGAIN"), { code });

test("a thread that lacks memory, or cannot be started, says in one line what to raise", () => {
  const said = (error: Error) => failureText(error, {});
  assert.match(
    said(threadFailure("apply-1", failed("ERR_WORKER_OUT_OF_MEMORY"), 180)) ?? "",
    /^The thread apply-1 failed: it used up its 180 MB of memory\. A higher BODIES_IN_FLIGHT_BYTES/,
  );
  assert.match(
    said(threadFailure("http-2", failed("ERR_WORKER_INIT_FAILED"), 180)) ?? "",
    /^The thread http-2 failed to start \(EAGAIN\): raise the limits/,
  );
  assert.match(
    said(threadEnd("apply-2", 134)) ?? "",
    /^The thread apply-2 ended with exit code 134\. .*raise their limits\.$/,
  );
  assert.equal(said(threadFailure("apply-1", new TypeError("a defect"), 180)), undefined);
});
