import assert from "node:assert/strict";
import { test } from "node:test";
import { drawCount, drawQuantile, SeededRandom, Weights } from "./random.ts";

const DRAWS = 20_000;

test("counts follow the Poisson distribution", () => {
  const random = new SeededRandom(1);
  for (const mean of [0.05, 1, 12]) {
    const counts = Array.from({ length: DRAWS }, () => drawCount(random, mean));
    const found = counts.reduce((sum, count) => sum + count, 0) / DRAWS;
    const variance = counts.reduce((sum, count) => sum + (count - found) ** 2, 0) / DRAWS;
    // Four standard errors.
    assert.ok(Math.abs(found - mean) < 4 * Math.sqrt(mean / DRAWS), `mean ${found} of ${mean}`);
    assert.ok(Math.abs(variance / mean - 1) < 0.15, `variance ${variance} of ${mean}`);
  }
  assert.equal(drawCount(random, 0), 0);
});

test("weights and quantiles are met", () => {
  const random = new SeededRandom(2);
  const weights = new Weights([1, 0, 3]);
  const drawn = [0, 0, 0];
  for (let at = 0; at < DRAWS; at += 1) drawn[weights.draw(random)]! += 1;
  assert.equal(drawn[1], 0);
  assert.ok(Math.abs(drawn[2]! / DRAWS - 0.75) < 0.015);
  const values = Array.from({ length: DRAWS }, () => drawQuantile(random, [0, 0, 10]));
  assert.ok(Math.abs(values.filter((value) => value === 0).length / DRAWS - 0.5) < 0.02);
  assert.ok(Math.max(...values) <= 10);
});
