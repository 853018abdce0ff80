import assert from "node:assert/strict";
import { test } from "node:test";
import type { Position } from "../platform/http/position.ts";
import { type Scan, scanPage } from "./bounded-scan.ts";

/** Scans the numbers from 1 on, every `matches` of which is wanted, and counts how many it examined. */
function numbers(total: number, matches: (number: number) => boolean, bounds: Partial<Scan<number>> = {}) {
  const counted = { examined: 0 };
  const scan: Scan<number> = {
    stepMax: 10,
    examinedMax: 1_000,
    everyRowMatches: false,
    positionOf: (row) => [row],
    async step(after, count) {
      const from = Number(after?.[0] ?? 0);
      const rows = Array.from({ length: Math.min(count, total - from) }, (_, at) => from + at + 1);
      counted.examined += rows.length;
      return {
        matching: rows.filter(matches),
        examined: rows.length,
        last: rows.length === 0 ? null : [rows.at(-1) ?? 0],
      };
    },
    ...bounds,
  };
  return { scan, counted };
}

async function read(scan: Scan<number>, start: Position | null, limit: number) {
  const rows: number[] = [];
  const page = scanPage(scan, start, limit);
  for (;;) {
    const step = await page.next();
    if (step.done === true) return { rows, next: step.value };
    rows.push(...step.value);
  }
}

test("pages of any size give every matching row once, in order, and end with null", async () => {
  for (const [total, every] of [
    [0, 1],
    [1, 1],
    [10, 1],
    [57, 1],
    [57, 3],
    [57, 100],
  ] as const) {
    for (const limit of [1, 2, 9, 10, 11, 100]) {
      const { scan } = numbers(total, (number) => number % every === 0, { everyRowMatches: every === 1 });
      const all: number[] = [];
      let start: Position | null = null;
      do {
        const { rows, next } = await read(scan, start, limit);
        assert.ok(rows.length <= limit);
        all.push(...rows);
        start = next;
      } while (start !== null);
      assert.deepEqual(
        all,
        Array.from({ length: total }, (_, at) => at + 1).filter((number) => number % every === 0),
      );
    }
  }
});

test("a list whose rows all match ends without an empty page, reading one row more than it returns", async () => {
  const { scan, counted } = numbers(4, () => true, { everyRowMatches: true });
  assert.deepEqual(await read(scan, [2], 2), { rows: [3, 4], next: null });
  assert.deepEqual(await read(scan, null, 3), { rows: [1, 2, 3], next: [3] });
  assert.equal(counted.examined, 2 + 4);
});

test("a filter that matches nothing ends the page after a bounded number of rows, with the way on", async () => {
  const { scan, counted } = numbers(10_000, () => false);
  assert.deepEqual(await read(scan, null, 100), { rows: [], next: [1_000] });
  assert.equal(counted.examined, 1_000);
});

test("a step that gives up ends the page where it stopped", async () => {
  const { scan } = numbers(100, () => true, {
    step: async () => ({ matching: [1, 2], examined: 2, last: [2], stopped: true }),
  });
  assert.deepEqual(await read(scan, null, 100), { rows: [1, 2], next: [2] });
});
