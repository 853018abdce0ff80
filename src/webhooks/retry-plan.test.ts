import assert from "node:assert/strict";
import { test } from "node:test";
import { secondsEndpointRests, secondsUntilNextTry, standardPlan } from "./retry-plan.ts";

const plan = standardPlan(72 * 3_600);

test("each try waits longer than the one before, up to a fifth more or less, and the eleventh is the last", () => {
  const waits: number[] = [];
  for (let attempts = 1; ; attempts += 1) {
    const seconds = secondsUntilNextTry(plan, attempts, 0, 0.5);
    if (seconds === undefined) break;
    waits.push(seconds);
    assert.ok((secondsUntilNextTry(plan, attempts, 0, 0) ?? 0) >= seconds * 0.8 - 1e-9);
    assert.ok((secondsUntilNextTry(plan, attempts, 0, 0.999) ?? 0) <= seconds * 1.2);
  }
  assert.equal(waits.length, 10);
  assert.deepEqual(
    waits.toSorted((left, right) => left - right),
    waits,
  );
  const hours = waits.reduce((sum, seconds) => sum + seconds, 0) / 3_600;
  assert.ok(hours > 40 && hours < 50, String(hours));
});

test("a receiver's Retry-After is respected, up to an hour", () => {
  assert.equal(secondsUntilNextTry(plan, 1, 90, 0.5), 90);
  assert.equal(secondsUntilNextTry(plan, 1, 86_400, 0.5), 3_600);
  assert.equal(secondsUntilNextTry(plan, 11, 90, 0.5), undefined);
});

test("an endpoint rests only after several failures in a row, and never longer than a minute or so", () => {
  assert.equal(secondsEndpointRests(plan, 1, 0.5), 0);
  assert.equal(secondsEndpointRests(plan, 2, 0.5), 0);
  assert.equal(secondsEndpointRests(plan, 3, 0.5), 5);
  assert.equal(secondsEndpointRests(plan, 7, 0.5), 60);
  assert.ok(secondsEndpointRests(plan, 100_000, 1) < 73);
});
