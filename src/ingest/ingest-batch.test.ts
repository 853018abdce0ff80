import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import type { Principal } from "../identity/principal.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { createLoggerTo } from "../platform/telemetry/log.ts";
import { noWaits } from "../platform/telemetry/request-waits.ts";
import type { HttpContext } from "../service-context.ts";
import { ingestBatch } from "./ingest-batch.ts";

test("what is refused for want of room takes little room in the log, which may lie on the same disk", async () => {
  const raw = new IncomingMessage(new Socket());
  raw.headers["content-type"] = "application/json";
  const context = { blockedReason: () => "The disk is almost full." } as HttpContext;
  const principal = { clientId: "a client" } as Principal;
  const request = { resource: "inventories", raw, principal, waits: noWaits(), trace: undefined } as const;
  const error: unknown = await ingestBatch(context, request).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof ServiceError);
  assert.equal(error.code, "bellhop.accept.Unavailable");
  let line = "";
  const log = createLoggerTo({ write: (text) => (line += text) }, "error");
  log.error({ err: error.cause ?? error }, "request failed");
  assert.match(line, /The disk is almost full\./);
  assert.ok(line.length < 300, line);
});
