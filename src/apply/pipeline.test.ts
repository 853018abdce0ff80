import assert from "node:assert/strict";
import { test } from "node:test";
import { logPart } from "../../test/support/log-part.ts";
import type { LogPart } from "./backlog.ts";
import { type ApplySession, readParts } from "./pipeline.ts";

/** Reads nothing: each part has 600,000 bytes. */
const session = {
  startPulse: () => ({ stop: () => undefined }),
  readPart: (part: LogPart) =>
    Promise.resolve({ part, records: [], inflatedBytes: 600_000, free: () => undefined }),
} as unknown as ApplySession;

test("a transaction has 8 MiB of parts, and 1 MiB of those that yield, for which others wait", async () => {
  const parts = Array.from({ length: 20 }, (_, at) => logPart(1, String(at)));
  assert.equal((await readParts(session, parts)).read.length, 14);
  const yielding = parts.map((part) => ({ ...part, yields: true }));
  assert.equal((await readParts(session, yielding)).read.length, 2);
  const mixed = [...parts.slice(0, 3), ...yielding];
  assert.equal((await readParts(session, mixed)).read.length, 3);
});
