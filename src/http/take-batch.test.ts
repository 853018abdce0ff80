import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import type { Principal } from "../auth/principal.ts";
import { ServiceError } from "../errors/registry.ts";
import { createLoggerTo } from "../observe/log.ts";
import { noWaits } from "../observe/request-waits.ts";
import type { HttpContext } from "./context.ts";
import { takeBatch } from "./take-batch.ts";

test("what is refused for want of room takes little room in the log, which may lie on the same disk", async () => {
  const raw = new IncomingMessage(new Socket());
  raw.headers["content-type"] = "application/json";
  const context = { blockedReason: () => "The disk is almost full." } as HttpContext;
  const principal = { clientId: "a client" } as Principal;
  const request = { resource: "inventories", raw, principal, waits: noWaits(), trace: undefined } as const;
  const error: unknown = await takeBatch(context, request).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof ServiceError);
  assert.equal(error.code, "bellhop.accept.Unavailable");
  let line = "";
  const log = createLoggerTo({ write: (text) => (line += text) }, "error");
  log.error({ err: error.cause ?? error }, "request failed");
  assert.match(line, /The disk is almost full\./);
  assert.ok(line.length < 300, line);
});
