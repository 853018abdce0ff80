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
    assert.equal(limiter.fail("1.2.3.4", "a"), 0, "an id that a client could have is counted by itself");
  });
});
