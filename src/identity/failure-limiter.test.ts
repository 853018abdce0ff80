import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFailureLimiter } from "./failure-limiter.ts";

describe("the limiter of failed authentications", () => {
  it("allows 20 in any minute for each address and client id", () => {
    let now = 0;
    const limiter = createFailureLimiter(() => now);
    for (let failure = 0; failure < 20; failure += 1) {
      now = failure * 1000;
      assert.equal(limiter.fail("1.2.3.4", "a"), 0);
    }
    now = 20_000;
    assert.equal(limiter.fail("1.2.3.4", "a"), 40);
    assert.equal(limiter.fail("1.2.3.4", "b"), 0);
    assert.equal(limiter.fail("1.2.3.5", "a"), 0);
    now = 60_000;
    assert.equal(limiter.fail("1.2.3.4", "a"), 0, "the first of them left the minute");
    assert.equal(limiter.fail("1.2.3.4", "a"), 1, "the second leaves it a second later");
  });

  it("remembers ids that no client can have as one, however long and many they are", () => {
    const limiter = createFailureLimiter(() => 0);
    for (let failure = 0; failure < 20; failure += 1) {
      assert.equal(limiter.fail("1.2.3.4", String(failure).repeat(4000)), 0);
    }
    assert.equal(limiter.fail("1.2.3.4", "\0"), 60);
    assert.equal(limiter.fail("1.2.3.4", "a"), 0, "an id that a client could have is counted separately");
  });

  it("counts the addresses of one /64 as one, and an address of IPv4 as itself in each spelling", () => {
    const limiter = createFailureLimiter(() => 0);
    for (let failure = 0; failure < 20; failure += 1)
      assert.equal(limiter.fail(`2001:db8:0:1::${failure.toString(16)}`, "a"), 0);
    assert.equal(limiter.fail("2001:db8:0:1:ffff::1", "a"), 60);
    assert.equal(limiter.fail("2001:db8:0:2::1", "a"), 0, "another /64");
    for (let failure = 0; failure < 20; failure += 1)
      assert.equal(limiter.fail(failure % 2 === 0 ? "::ffff:192.0.2.7" : "::ffff:c000:207", "a"), 0);
    assert.equal(limiter.fail("192.0.2.7", "a"), 60);
  });

  it("counts a /48 as one once many /64 of it failed within the minute", () => {
    let now = 0;
    const limiter = createFailureLimiter(() => now);
    let failures = 0;
    for (let subnet = 0; subnet < 100; subnet += 1)
      if (limiter.fail(`2001:db8:5:${subnet.toString(16)}::1`, "a") === 0) failures += 1;
    assert.equal(failures, 8 + 20, "eight /64 each on its own, and the others as one");
    assert.equal(
      limiter.fail("2001:db8:5:0::9", "a"),
      0,
      "a /64 that counts on its own has a limit of its own",
    );
    assert.equal(limiter.fail("2001:db8:6::1", "a"), 0, "another /48");
    now = 60_000;
    assert.equal(limiter.fail("2001:db8:5:ff::1", "a"), 0, "a minute later they count on their own again");
  });
});
