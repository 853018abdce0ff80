import assert from "node:assert/strict";
import { test } from "node:test";
import { microsecondsOf } from "../../ingest/log/part-name.ts";
import { after, lowestIdFrom, readInstant } from "./instant.ts";

const DAY_US = 86_400_000_000;

test("the lowest id of an instant is received then or later, and the id before it earlier", () => {
  const start = Date.parse("2026-01-31T12:00:00Z") * 1000;
  for (let step = 0; step < 5_000; step += 1) {
    const at = start + step * 7 + (step % 3) * DAY_US;
    const id = lowestIdFrom({ ms: Math.floor(at / 1000), us: at % 1000 });
    assert.ok(microsecondsOf(id) >= at, id);
    const ticks = BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(15, 18)}`) - 1n;
    const hex = ticks.toString(16).padStart(15, "0");
    const before = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(12)}-bfff-ffffffffffff`;
    assert.ok(microsecondsOf(before) < at, before);
  }
});

test("instants before 1970 and beyond a UUIDv7's range are clamped", () => {
  const lowest = lowestIdFrom({ ms: 0, us: 0 });
  assert.equal(lowest, "00000000-0000-7000-8000-000000000000");
  assert.equal(lowestIdFrom(readInstant("0001-01-01T00:00:00Z") ?? { ms: 1, us: 0 }), lowest);
  assert.equal(lowestIdFrom({ ms: 2 ** 48, us: 0 }), "ffffffff-ffff-7fff-8000-000000000000");
});

test("an instant keeps its microseconds, and the one after it is one microsecond later", () => {
  assert.deepEqual(readInstant("2026-01-01T00:00:00.000999Z"), {
    ms: Date.parse("2026-01-01T00:00:00Z"),
    us: 999,
  });
  assert.deepEqual(after({ ms: 5, us: 999 }), { ms: 6, us: 0 });
  assert.deepEqual(after({ ms: 5, us: 0 }), { ms: 5, us: 1 });
  assert.equal(readInstant("2026-01-01"), undefined);
});
