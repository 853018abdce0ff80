import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createRateLimiter } from "./rate-limiter.ts";

describe("the limiter of request rates", () => {
  it("lets a burst pass, then refuses with the time to wait", () => {
    const limiter = createRateLimiter(() => 0);
    for (let left = 99; left >= 0; left -= 1) {
      assert.deepEqual(limiter.take("a", 50, 100), {
        allowed: true,
        remaining: left,
        resetSeconds: 1,
        retryAfterSeconds: 0,
      });
    }
    assert.deepEqual(limiter.take("a", 50, 100), {
      allowed: false,
      remaining: 0,
      resetSeconds: 1,
      retryAfterSeconds: 1,
    });
    assert.equal(limiter.take("b", 50, 100).allowed, true, "another client has a bucket of its own");
  });

  it("gives each of several nodes its part of rate and burst, and never less than room for one request", () => {
    let now = 0;
    const limiter = createRateLimiter(() => now);
    const taken = (nodes: number, rate: number, burst: number, client: string) => {
      let count = 0;
      while (limiter.take(client, rate, burst, nodes).allowed) count += 1;
      return count;
    };
    assert.equal(taken(4, 8, 12, "a"), 3);
    now += 1_000;
    assert.equal(taken(4, 8, 12, "a"), 2);
    assert.equal(taken(10, 2, 3, "b"), 1);
    now += 5_000;
    assert.equal(taken(10, 2, 3, "b"), 1);
  });

  it("keeps the used share of a client's bucket when nodes start and stop", () => {
    const limiter = createRateLimiter(() => 0);
    for (let sent = 0; sent < 50; sent += 1) limiter.take("a", 10, 100, 1);
    // Half of the bucket is left: of one node's hundred, and so of the 50 that each of two has.
    assert.equal(limiter.take("a", 10, 100, 2).remaining, 24);
    assert.equal(limiter.take("a", 10, 100, 1).remaining, 47);
  });

  it("gives the rate back every second, whatever its fractions", () => {
    for (const rate of [1, 3, 7, 50, 333]) {
      let now = 0;
      const limiter = createRateLimiter(() => now);
      let allowed = 0;
      for (let tick = 0; tick <= 10_000; tick += 1) {
        now = tick;
        while (limiter.take("a", rate, 2).allowed) allowed += 1;
      }
      assert.equal(allowed, rate * 10 + 2, `${rate} a second`);
    }
  });

  it("never lets more pass than the burst and the rate since, and never refuses within them", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 200 }),
        (rate, burst, gaps) => {
          let now = 0;
          let level = burst;
          const limiter = createRateLimiter(() => now);
          for (const gap of gaps) {
            now += gap;
            level = Math.min(burst, level + (gap * rate) / 1000);
            const { allowed } = limiter.take("a", rate, burst);
            // Within a rounding of the border either answer is right.
            if (Math.abs(level - 1) > 1e-6) assert.equal(allowed, level >= 1);
            if (allowed) level -= 1;
          }
        },
      ),
    );
  });

  it("treats a lowered burst as an empty bucket, not as a debt", () => {
    let now = 0;
    const limiter = createRateLimiter(() => now);
    for (let taken = 0; taken < 100; taken += 1) limiter.take("a", 1, 100);
    assert.equal(limiter.take("a", 1, 5).retryAfterSeconds, 1);
    now = 1000;
    assert.equal(limiter.take("a", 1, 5).allowed, true);
  });

  it("admits a request that costs more than one, and lets later ones wait until its cost is paid", () => {
    let now = 0;
    const limiter = createRateLimiter(() => now);
    limiter.take("a", 50, 100);
    assert.equal(limiter.charge("a", 9, 50, 100).remaining, 90);
    assert.equal(limiter.charge("a", 240, 50, 100).remaining, 0);
    // 150 are owed, and one more is needed: 3.02 s.
    assert.deepEqual(limiter.take("a", 50, 100), {
      allowed: false,
      remaining: 0,
      resetSeconds: 4,
      retryAfterSeconds: 4,
    });
    now = 3_010;
    assert.equal(limiter.take("a", 50, 100).allowed, false);
    now = 3_021;
    assert.equal(limiter.take("a", 50, 100).allowed, true);
    assert.equal(limiter.take("b", 50, 100).allowed, true, "another client owes nothing");
  });

  it("forgives no debt, and keeps none for longer than it was made", () => {
    let now = 0;
    const limiter = createRateLimiter(() => now);
    limiter.charge("a", 200, 100, 100);
    for (now = 0; now <= 1_000; now += 10) assert.equal(limiter.take("a", 100, 100).allowed, now >= 1_010);
    now = 1_010;
    assert.equal(limiter.take("a", 100, 100).allowed, true);
    now = 60_000;
    assert.equal(limiter.take("a", 100, 100).remaining, 99);
  });
});
