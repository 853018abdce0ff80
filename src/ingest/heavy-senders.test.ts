import assert from "node:assert/strict";
import test from "node:test";
import { createRateLimiter } from "../identity/rate-limiter.ts";
import { SharedCounter } from "../platform/runtime/shared-memory.ts";
import { HeavySenders, valuesBeyondUsual } from "./heavy-senders.ts";

test("a client's batches yield from 100,000 values beyond 200 a record on, until they are less by 30,000 a second", () => {
  let now = 0;
  const heavy = new HeavySenders(
    createRateLimiter(() => now),
    undefined,
    () => now,
  );
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
  const heavy = new HeavySenders(
    createRateLimiter(() => now),
    undefined,
    () => now,
  );
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

test("a usual batch looks at no rates while no client of the process yields", () => {
  let [now, charged] = [0, 0];
  const rates = createRateLimiter(() => now);
  const counted = (...parameters: Parameters<typeof rates.charge>) => {
    charged += 1;
    return rates.charge(...parameters);
  };
  const someUntil = SharedCounter.allocate();
  const [ofHttp, ofApply] = [1, 2].map(
    () => new HeavySenders({ ...rates, charge: counted }, new SharedCounter(someUntil), () => now),
  ) as [HeavySenders, HeavySenders];
  assert.equal(ofHttp.yields("bhc_usual", 0), false);
  assert.equal(charged, 0);
  ofApply.applied("bhc_heavy", 1, 200_000);
  assert.deepEqual([ofHttp.yields("bhc_heavy", 0), ofHttp.yields("bhc_usual", 0)], [true, false]);
  now += 60_000;
  charged = 0;
  assert.deepEqual([ofHttp.yields("bhc_heavy", 0), charged], [false, 0]);
});

test("what a client owes for its rows and values does not count as requests", () => {
  const rates = createRateLimiter(() => 0);
  const heavy = new HeavySenders(rates, undefined, () => 0);
  heavy.applied("bhc_heavy", 1, 10_000_000);
  heavy.yields("bhc_heavy", 10_000_000);
  assert.equal(rates.take("bhc_heavy", 50, 100).remaining, 99);
});
