import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "./pace.ts";
import type { PackedPart } from "./packed-day.ts";

const wave = (from: number, quarters: number): PackedPart[] =>
  Array.from({ length: quarters }, (_, at) => ({ quarter: from + at, batches: [] }));

test("yields every part of every wave once, in order, however many are due at once", async () => {
  const pace = new Pace(1e9, undefined);
  const reported: number[] = [];
  for (const parts of [wave(100, 4), wave(104, 96), wave(200, 1)])
    for await (const due of pace.due(parts)) {
      assert.ok(due.length > 0);
      reported.push(...due.map(({ quarter }) => quarter));
    }
  assert.deepEqual(reported, [...Array.from({ length: 100 }, (_, at) => 100 + at), 200]);
});

test("the first wave is due at once, and an interrupt rejects the wait for the next", async () => {
  const interrupted = new AbortController();
  // At this speed a quarter of an hour lasts four hours.
  const pace = new Pace(1 / 16, interrupted.signal);
  const first = await Array.fromAsync(pace.due(wave(7, 3)));
  assert.deepEqual(
    first.flat().map(({ quarter }) => quarter),
    [7, 8, 9],
  );
  const next = pace.due(wave(10, 1)).next();
  interrupted.abort(new Error("Interrupted."));
  await assert.rejects(next);
});
