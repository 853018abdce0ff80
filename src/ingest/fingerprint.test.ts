import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { fingerprintOf } from "./fingerprint.ts";

test("a fingerprint is the SHA-256 of head and body, however large the body is", async () => {
  const head = "groups\0é\0";
  for (const bytes of [0, 1, 65_525, 65_526, 65_527, 65_536, 2_097_152, 5_000_001]) {
    const body = Buffer.alloc(bytes, "0123456789");
    const expected = createHash("sha256").update(head).update(body).digest("hex");
    assert.equal(await fingerprintOf(head, body), expected, `${bytes} bytes`);
  }
});
