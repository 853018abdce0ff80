import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { AuthSetupError, createSealer } from "./seal.ts";

describe("sealing", () => {
  const sealer = createSealer(randomBytes(32).toString("base64"));
  const plain = Buffer.from("a private key");

  it("opens what it sealed, under the same name only, and differently each time", () => {
    const sealed = sealer.seal("one", plain);
    assert.deepEqual(sealer.open("one", sealed), plain);
    assert.ok(!sealed.includes(plain.toString("base64")));
    assert.notEqual(sealer.seal("one", plain), sealed);
    assert.throws(() => sealer.open("other", sealed), AuthSetupError);
  });

  it("refuses values that were changed or cut", () => {
    const sealed = sealer.seal("one", plain);
    const [scheme, iv, body, tag] = sealed.split(":");
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
      assert.throws(() => sealer.open("one", wrong), AuthSetupError, wrong);
    }
  });

  it("opens what a former key sealed, and says that it is to be sealed anew", () => {
    const [former, current] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    const before = createSealer(former).seal("one", plain);
    const both = createSealer(current, [former]);
    assert.deepEqual(both.open("one", before), plain);
    assert.throws(() => both.open("other", before), AuthSetupError);
    assert.throws(() => createSealer(current).open("one", before), /KEY_ENCRYPTION_KEY_PREVIOUS/);
    const anew = both.seal("one", plain);
    assert.deepEqual([both.isCurrent("one", before), both.isCurrent("one", anew)], [false, true]);
    assert.deepEqual(createSealer(current).open("one", anew), plain);
    assert.throws(() => createSealer(former).open("one", anew), AuthSetupError);
  });

  it("keeps values readable without a key, and says which of them a key should seal", () => {
    const open = createSealer(undefined);
    const readable = open.seal("one", plain);
    assert.deepEqual(open.open("one", readable), plain);
    assert.deepEqual(sealer.open("one", readable), plain);
    assert.deepEqual([sealer.isCurrent("one", readable), open.isCurrent("one", readable)], [false, true]);
    assert.throws(() => open.open("one", sealer.seal("one", plain)), /set KEY_ENCRYPTION_KEY/);
  });
});
