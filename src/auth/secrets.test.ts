import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { digestSecret, looksLikeCredential, matchSecret, newClientId, newClientSecret } from "./secrets.ts";

describe("client secrets", () => {
  const pepper = randomBytes(32);

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
    const other = { slot: 1, digest: digestSecret(pepper, "a", newClientSecret()) };
    assert.equal(matchSecret(pepper, "a", secret, [other, { slot: 2, digest }]), 2);
    assert.equal(matchSecret(pepper, "a", secret, [{ slot: 1, digest }]), 1);
    assert.equal(matchSecret(pepper, "b", secret, [{ slot: 1, digest }]), undefined);
    assert.equal(matchSecret(randomBytes(32), "a", secret, [{ slot: 1, digest }]), undefined);
    assert.equal(matchSecret(pepper, "a", secret, [other]), undefined);
    assert.equal(matchSecret(pepper, "a", secret, []), undefined);
  });
});
