import assert from "node:assert/strict";
import test from "node:test";
import { createRateLimiter } from "../identity/rate-limiter.ts";
import { HeavySenders, valuesBeyondUsual } from "./heavy-senders.ts";

test("a client's batches yield from 100,000 values beyond 200 a record on, until they are less by 30,000 a second", () => {
  let now = 0;
  const heavy = new HeavySenders(createRateLimiter(() => now));
  assert.deepEqual([1, 200, 201, 250_000].map(valuesBeyondUsual), [0, 0, 1, 249_800]);
  assert.equal(heavy.yields("bhc_heavy", 99_000), false);
  assert.equal(heavy.yields("bhc_heavy", 31_000), true);
  assert.equal(heavy.yields("bhc_heavy", 0), true);
  assert.equal(heavy.yields("bhc_other", 0), false);
  now += 1_001;
  assert.equal(heavy.yields("bhc_heavy", 0), false);
});

test("a client's batches yield once its records have made 100,000 rows beyond 20 a record, until they are less by 10,000 a second", () => {
  let now = 0;
  const heavy = new HeavySenders(createRateLimiter(() => now));
  heavy.applied("bhc_usual", 1_000_000, 2_000_000);
  heavy.applied("bhc_heavy", 10, 99_000);
  assert.equal(heavy.yields("bhc_heavy", 0), false);
  heavy.applied("bhc_heavy", 1, 22_000);
  assert.deepEqual(
    ["bhc_heavy", "bhc_usual", "bhc_other"].map((id) => heavy.yields(id, 0)),
    [true, false, false],
  );
  now += 2_200;
  assert.equal(heavy.yields("bhc_heavy", 0), false);
});

test("what a client owes for its rows and values does not count as requests", () => {
  const rates = createRateLimiter(() => 0);
  const heavy = new HeavySenders(rates);
  heavy.applied("bhc_heavy", 1, 10_000_000);
  heavy.yields("bhc_heavy", 10_000_000);
  assert.equal(rates.take("bhc_heavy", 50, 100).remaining, 99);
});
