import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AuthInputError } from "./admin.ts";
import { checkNewPassword, hashPassword, matchesPassword, newPassword } from "./passwords.ts";

describe("an operator's password", () => {
  test("matches its own hash, with composed or decomposed characters, and no other password", async () => {
    const stored = await hashPassword("caf\u00e9 au lait, deux");
    assert.match(stored, /^scrypt\$15\$8\$3\$[A-Za-z0-9_-]{22}\$[A-Za-z0-9_-]{43}$/);
    assert.equal(await matchesPassword("cafe\u0301 au lait, deux", stored), true);
    assert.equal(await matchesPassword("cafe au lait, deux", stored), false);
    assert.equal(await matchesPassword("caf\u00e9 au lait, deux", undefined), false);
  });

  test("has another salt each time it is stored", async () => {
    assert.notEqual(await hashPassword("the same password"), await hashPassword("the same password"));
  });

  test("is refused when it is short, long, one letter over and over, or the name", () => {
    for (const bad of [
      "short",
      "x".repeat(12),
      "a".repeat(257),
      "annaannaanna1",
      "tab\tin the middle",
      "\ud800 is half a pair",
    ])
      assert.throws(() => checkNewPassword(bad, "anna"), AuthInputError, bad);
    checkNewPassword(newPassword(), "anna");
    checkNewPassword("correct horse battery", "anna");
  });
});
