import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { AuthSetupError, createSecretCipher } from "./secret-cipher.ts";

describe("the cipher of secrets", () => {
  const cipher = createSecretCipher(randomBytes(32).toString("base64"));
  const plain = Buffer.from("a private key");

  it("decrypts what it encrypted under the same name only; ciphertexts differ each time", () => {
    const encrypted = cipher.encrypt("one", plain);
    assert.deepEqual(cipher.decrypt("one", encrypted), plain);
    assert.ok(!encrypted.includes(plain.toString("base64")));
    assert.notEqual(cipher.encrypt("one", plain), encrypted);
    assert.throws(() => cipher.decrypt("other", encrypted), AuthSetupError);
  });

  it("refuses values that were changed or cut", () => {
    const encrypted = cipher.encrypt("one", plain);
    const [scheme, iv, body, tag] = encrypted.split(":");
    const flipped = Buffer.from(body ?? "", "base64");
    flipped.writeUInt8((flipped[0] ?? 0) ^ 1, 0);
    const cut = Buffer.from(tag ?? "", "base64")
      .subarray(0, 4)
      .toString("base64");
    for (const wrong of [
      [scheme, iv, flipped.toString("base64"), tag].join(":"),
      [scheme, iv, body, cut].join(":"),
      [scheme, iv, body].join(":"),
      "aes256gcm:",
      "nonsense",
      "",
    ]) {
      assert.throws(() => cipher.decrypt("one", wrong), AuthSetupError, wrong);
    }
  });

  it("decrypts values of a previous key, and reports that they need re-encryption", () => {
    const [former, current] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    const before = createSecretCipher(former).encrypt("one", plain);
    const both = createSecretCipher(current, [former]);
    assert.deepEqual(both.decrypt("one", before), plain);
    assert.throws(() => both.decrypt("other", before), AuthSetupError);
    assert.throws(() => createSecretCipher(current).decrypt("one", before), /KEY_ENCRYPTION_KEY_PREVIOUS/);
    const anew = both.encrypt("one", plain);
    assert.deepEqual([both.isCurrent("one", before), both.isCurrent("one", anew)], [false, true]);
    assert.deepEqual(createSecretCipher(current).decrypt("one", anew), plain);
    assert.throws(() => createSecretCipher(former).decrypt("one", anew), AuthSetupError);
  });

  it("stores values unencrypted without a key, and reports which a key should encrypt", () => {
    const keyless = createSecretCipher(undefined);
    const readable = keyless.encrypt("one", plain);
    assert.deepEqual(keyless.decrypt("one", readable), plain);
    assert.deepEqual(cipher.decrypt("one", readable), plain);
    assert.deepEqual([cipher.isCurrent("one", readable), keyless.isCurrent("one", readable)], [false, true]);
    assert.throws(() => keyless.decrypt("one", cipher.encrypt("one", plain)), /set KEY_ENCRYPTION_KEY/);
  });
});
