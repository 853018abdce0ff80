import assert from "node:assert/strict";
import { test } from "node:test";
import { packTraceContext, readTraceparent, traceparentOf, unpackTraceContext } from "./trace-context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

test("a traceparent is read, with or without the flag that says sampled", () => {
  const read = (flags: string) => readTraceparent(`00-${traceId}-${spanId}-${flags}`);
  assert.deepEqual(read("01"), { traceId, spanId, isSampled: true });
  assert.deepEqual(read("03"), { traceId, spanId, isSampled: true });
  assert.deepEqual(read("00"), { traceId, spanId, isSampled: false });
});

test("what a later version adds is passed over", () => {
  assert.equal(readTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-brings`)?.traceId, traceId);
});

test("what is no traceparent is none: zeros, capitals, a wrong length, the version ff, more than 00 has", () => {
  for (const header of [
    undefined,
    "",
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01\n`,
    "x".repeat(10_000),
  ])
    assert.equal(readTraceparent(header), undefined, header);
});

test("a context comes back from the log and from a header as it went", () => {
  const packed = packTraceContext({ traceId, spanId });
  assert.equal(packed.length, 50);
  assert.deepEqual(unpackTraceContext(packed), { traceId, spanId });
  assert.deepEqual(readTraceparent(traceparentOf({ traceId, spanId })), { traceId, spanId, isSampled: true });
  for (const other of [null, undefined, "", "0".repeat(48)])
    assert.equal(unpackTraceContext(other), undefined);
});
