import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { digestSecret, looksLikeCredential, matchSecret, newClientId, newClientSecret } from "./secrets.ts";

describe("client secrets", () => {
  const pepper = randomBytes(32);
  const one = { current: 1, keys: new Map([[1, pepper]]) };

  it("use only what form and Basic encoding leave alone, and are never the same", () => {
    const made = Array.from({ length: 200 }, () => [newClientId(), newClientSecret()]).flat();
    assert.equal(new Set(made).size, made.length);
    for (const text of made) {
      assert.ok(looksLikeCredential(text));
      assert.equal(encodeURIComponent(text), text);
    }
    for (const text of ["", "a b", "a:b", "a\u0000", "a%20", "\u00e9", "x".repeat(129)])
      assert.equal(looksLikeCredential(text), false);
  });

  it("match the slot that holds their digest, for their client and pepper only", () => {
    const secret = newClientSecret();
    const digest = digestSecret(pepper, "a", secret);
    const mine = { slot: 2, digest, pepper: 1 };
    const other = { slot: 1, digest: digestSecret(pepper, "a", newClientSecret()), pepper: 1 };
    assert.equal(matchSecret(one, "a", secret, [other, mine])?.slot, 2);
    assert.equal(matchSecret(one, "a", secret, [mine])?.slot, 2);
    assert.equal(matchSecret(one, "b", secret, [mine]), undefined);
    assert.equal(
      matchSecret({ ...one, keys: new Map([[1, randomBytes(32)]]) }, "a", secret, [mine]),
      undefined,
    );
    assert.equal(matchSecret(one, "a", secret, [other]), undefined);
    assert.equal(matchSecret(one, "a", secret, []), undefined);
  });

  it("match under the pepper that they were digested with, of two, and under no other", () => {
    const secret = newClientSecret();
    const two = { current: 2, keys: new Map([...one.keys, [2, randomBytes(32)]]) };
    const stored = (number: number) => ({
      slot: number,
      digest: digestSecret(two.keys.get(number) as Buffer, "a", secret),
      pepper: number,
    });
    for (const number of [1, 2]) assert.equal(matchSecret(two, "a", secret, [stored(number)])?.slot, number);
    for (const pepper of [2, 3, null])
      assert.equal(matchSecret(two, "a", secret, [{ ...stored(1), pepper }]), undefined, String(pepper));
    const nothing = { slot: 1, digest: Buffer.alloc(32), pepper: null };
    assert.equal(matchSecret(two, "a", secret, [nothing]), undefined);
  });
});
