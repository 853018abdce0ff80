import assert from "node:assert/strict";
import { test } from "node:test";
import { allocateLogins, createLoginLimiter } from "./login-limiter.ts";

test("ten attempts at a name from an address pass in five minutes, the next one waits for the first to be forgotten", () => {
  let now = 1_000_000;
  const limiter = createLoginLimiter(() => now);
  for (let attempt = 0; attempt < 10; attempt += 1) {
    assert.equal(limiter.take("10.0.0.1", "anna"), 0);
    now += 1_000;
  }
  assert.equal(limiter.take("10.0.0.1", "anna"), 290);
  assert.equal(limiter.take("10.0.0.2", "anna"), 0);
  assert.equal(limiter.take("10.0.0.1", "berta"), 0);
  now += 290_000;
  assert.equal(limiter.take("10.0.0.1", "anna"), 0);
  assert.equal(limiter.take("10.0.0.1", "anna"), 1);
});

test("thirty attempts per address pass in five minutes, even with invented names", () => {
  let now = 1_000_000;
  const limiter = createLoginLimiter(() => now);
  for (let attempt = 0; attempt < 30; attempt += 1)
    assert.equal(limiter.take("10.0.0.1", `name${attempt}`), 0);
  assert.equal(limiter.take("10.0.0.1", "anna"), 300);
  assert.equal(limiter.take("10.0.0.2", "anna"), 0);
  limiter.forget("10.0.0.1", "berta");
  assert.equal(limiter.take("10.0.0.1", "anna"), 0);
  for (let attempt = 1; attempt < 30; attempt += 1) limiter.take("10.0.0.1", "berta");
  now += 1_000;
  // Only ten of them were checked; attempts refused for their name do not count.
  assert.equal(limiter.take("10.0.0.1", "clara"), 0);
});

test("attempts are counted and forgotten for all threads of a process", () => {
  const memory = allocateLogins();
  const limiter = createLoginLimiter(() => 5_000, memory);
  const elsewhere = createLoginLimiter(() => 5_000, memory);
  for (let attempt = 0; attempt < 10; attempt += 1) limiter.take("10.0.0.1", "anna");
  assert.notEqual(limiter.take("10.0.0.1", "anna"), 0);
  elsewhere.forget("10.0.0.1", "anna");
  assert.equal(limiter.take("10.0.0.1", "anna"), 0);
});

test("attempts count for the /64 of an IPv6 address, and for its /48 once many /64s are used", () => {
  const limiter = createLoginLimiter(() => 1_000_000);
  for (let attempt = 0; attempt < 10; attempt += 1)
    assert.equal(limiter.take(`2001:db8:0:1::${attempt}`, "anna"), 0);
  assert.equal(limiter.take("2001:db8:0:1::ff", "anna"), 300);
  limiter.forget("2001:db8:0:1::ff", "anna");
  assert.equal(limiter.take("2001:db8:0:1::1", "anna"), 0);
  let taken = 0;
  for (let subnet = 0; subnet < 500; subnet += 1)
    if (limiter.take(`2001:db8:7:${subnet.toString(16)}::1`, `name${subnet}`) === 0) taken += 1;
  assert.equal(taken, 8 + 30);
});

test("ten thousand made-up names do not give one more code of an authenticator app", () => {
  let now = 1_000_000;
  const limiter = createLoginLimiter(() => now);
  for (let code = 0; code < 5; code += 1) assert.equal(limiter.takeCode("anna"), 0);
  for (let attempt = 0; attempt < 30_000; attempt += 1) {
    now += 1;
    limiter.take("10.0.0.1", `name${attempt}`);
  }
  assert.notEqual(limiter.takeCode("anna"), 0);
});

test("invented names give no address another guess at a password, also where another address sends them", () => {
  let now = 1_000_000;
  const limiter = createLoginLimiter(() => now);
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal(limiter.take("10.0.0.1", "anna"), 0);
  for (let attempt = 0; attempt < 20; attempt += 1)
    assert.equal(limiter.take("10.0.0.1", `name${attempt}`), 0);
  for (let attempt = 0; attempt < 30_000; attempt += 1) {
    now += 1;
    limiter.take("10.0.0.2", `name${attempt}`);
  }
  assert.notEqual(limiter.take("10.0.0.1", "berta"), 0);
  limiter.forget("10.0.0.1", "berta");
  assert.equal(limiter.take("10.0.0.1", "berta"), 0);
  assert.notEqual(limiter.take("10.0.0.1", "anna"), 0);
});
