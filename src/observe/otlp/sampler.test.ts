import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { SAMPLERS, type SamplerName, samplerOf } from "./sampler.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const caller = (isCallerSampled: boolean) => ({
  ...{ traceId, spanId: "b7ad6b7169203331", isSampled: isCallerSampled },
});

test("samplers that are based on the caller do as it did, the others do not ask", () => {
  const decided = (said: boolean) =>
    SAMPLERS.map((name: SamplerName) => samplerOf(name, 0)(traceId, caller(said)));
  assert.deepEqual(decided(true), [true, false, false, true, true, true]);
  assert.deepEqual(decided(false), [true, false, false, false, false, false]);
});

test("without a caller they do as the name behind their own says", () => {
  const decided = SAMPLERS.map((name) => samplerOf(name, 1)(traceId, undefined));
  assert.deepEqual(decided, [true, false, true, true, false, true]);
});

test("a ratio samples about so many, and the same ones wherever it is asked", () => {
  const ids = Array.from({ length: 4_000 }, () => randomBytes(16).toString("hex"));
  const chosen = ids.filter((id) => samplerOf("traceidratio", 0.25)(id, undefined));
  assert.ok(chosen.length > 800 && chosen.length < 1_200, `${chosen.length} of 4,000`);
  assert.ok(chosen.every((id) => samplerOf("parentbased_traceidratio", 0.5)(id, undefined)));
});
