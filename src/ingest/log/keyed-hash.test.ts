import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { KeyedHash } from "../redact.ts";

test("it is HMAC-SHA256, whatever the key and the text", () => {
  for (const key of ["", "ab".repeat(32), "0123".repeat(32)])
    for (const text of ["", "Jane Doe", "é漢🏨".repeat(100)]) {
      const expected = createHmac("sha256", Buffer.from(key, "hex")).update(text).digest("hex");
      assert.equal(new KeyedHash(key).digest(text).toString("hex"), expected);
    }
  assert.throws(() => new KeyedHash("00".repeat(65)), RangeError);
});
