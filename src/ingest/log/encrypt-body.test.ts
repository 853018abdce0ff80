import assert from "node:assert/strict";
import { createSecretKey, randomBytes, randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { packBody, type RecordSlice } from "./body-layout.ts";
import { DecryptionError, encryptBody, type PayloadKey, payloadKeyIdOf } from "./encrypt-body.ts";
import { encryptAsBefore, findPayloadKeysBy, openLayout } from "./open-layout.ts";
import type { PartName, StoredBody } from "./part-name.ts";

/** Records of a size that is packed and of one that is stored as it came; every third index lies in another part. */
function packed(count: number, bytes: number): { records: readonly string[]; packed: StoredBody } {
  const records = Array.from(
    { length: count },
    (_, n) => `{"n":${n},"name":"${"Anna Guest ".repeat(bytes / 11)}"}`,
  );
  const slices: RecordSlice[] = [];
  let at = 1;
  for (const [n, record] of records.entries()) {
    slices.push({ index: n * 3, start: at, end: at + record.length });
    at += record.length + 1;
  }
  return { records, packed: packBody(Buffer.from(`[${records.join(",")}]`), slices) };
}

const newKey = (): PayloadKey => ({ keyId: randomUUID(), key: createSecretKey(randomBytes(32)) });
const newPart = (): PartName => ({ bucket: 7, requestId: randomUUID() });

/** Has these keys found for the time of one test. */
function finding(t: { after(work: () => void): void }, ...keys: readonly PayloadKey[]): void {
  t.after(findPayloadKeysBy(async (keyId) => keys.find((each) => each.keyId === keyId)?.key));
}

async function readAll(part: PartName, { layout, body }: StoredBody): Promise<string[]> {
  return [...(await openLayout(part, layout)).allRecords(body)].map(({ bytes }) => bytes.toString());
}

describe("an encrypted part", () => {
  for (const [count, bytes] of [
    [1, 11],
    [600, 110],
    [3, 220_000],
  ] as const) {
    test(`of ${count} records of ${bytes} bytes decrypts to the original, whole, by chunks and record by record`, async (t) => {
      const key = newKey();
      finding(t, key);
      const part = newPart();
      const { records, packed: plain } = packed(count, bytes);
      const encrypted = encryptBody(plain, part, key);
      assert.equal(payloadKeyIdOf(encrypted.layout), key.keyId);
      assert.equal(encrypted.body.includes("Anna"), false);
      assert.deepEqual(await readAll(part, encrypted), records);
      const layout = await openLayout(part, encrypted.layout);
      const chunks = [...layout.chunksOf(encrypted.body)].map(({ bytes: chunk }) => chunk.toString());
      assert.equal(chunks.join(""), records.join(""));
      const last = layout.recordCount - 1;
      assert.equal(layout.positionOf(last * 3), last);
      const { from, bytes: stored, chunk } = layout.rangeOf(last);
      const found = [...layout.recordsOf(chunk, encrypted.body.subarray(from, from + stored))].at(-1);
      assert.equal(found?.bytes.toString(), records.at(-1));
    });
  }

  test("has different bytes each time; an unencrypted part is unchanged", async () => {
    const { records, packed: plain } = packed(2, 110);
    const part = newPart();
    const key = newKey();
    const before = Buffer.concat([plain.layout, plain.body]);
    const bodies = new Set(
      Array.from({ length: 8 }, () => encryptBody(plain, part, key).body.toString("hex")),
    );
    assert.equal(bodies.size, 8);
    assert.deepEqual(Buffer.concat([plain.layout, plain.body]), before);
    assert.equal(payloadKeyIdOf(plain.layout), undefined);
    assert.deepEqual(await readAll(part, plain), records);
  });

  test("opens nowhere else: not as another request's or bucket's, nor with another layout's", async (t) => {
    const key = newKey();
    finding(t, key);
    const part = newPart();
    const { packed: plain } = packed(600, 110);
    const encrypted = encryptBody(plain, part, key);
    const again = encryptBody(plain, part, key);
    for (const [other, stored] of [
      [{ ...part, bucket: 8 }, encrypted],
      [{ ...part, requestId: randomUUID() }, encrypted],
      [part, { layout: again.layout, body: encrypted.body }],
    ] as const)
      await assert.rejects(readAll(other, stored), DecryptionError);
  });

  test("does not open once any byte of it was changed, or its chunks were", async (t) => {
    const key = newKey();
    finding(t, key);
    const part = newPart();
    const { packed: plain } = packed(600, 110);
    const { layout, body } = encryptBody(plain, part, key);
    const changed = (bytes: Buffer, at: number): Buffer => {
      const copy = Buffer.from(bytes);
      copy.writeUInt8((copy[at] as number) ^ 1, at);
      return copy;
    };
    for (const at of [0, 100, body.length - 1])
      await assert.rejects(readAll(part, { layout, body: changed(body, at) }), DecryptionError);
    // Of the layout: the length and the index of a record, the id of the key, the salt.
    for (const at of [8 + 3 * 12, layout.length - 44, layout.length - 20, layout.length - 1])
      await assert.rejects(readAll(part, { layout: changed(layout, at), body }), DecryptionError);
    const first = (await openLayout(part, layout)).rangeOf(0).bytes;
    const swapped = Buffer.concat([body.subarray(first), body.subarray(0, first)]);
    await assert.rejects(readAll(part, { layout, body: swapped }), DecryptionError);
  });

  test("is rewritten under its own key, and an unencrypted one stays unencrypted", async (t) => {
    const key = newKey();
    finding(t, key);
    const part = newPart();
    const before = encryptBody(packed(5, 110).packed, part, key);
    const { records, packed: other } = packed(4, 220);
    const anew = await encryptAsBefore(other, part, before);
    assert.equal(payloadKeyIdOf(anew.layout), key.keyId);
    assert.deepEqual(await readAll(part, anew), records);
    assert.equal(await encryptAsBefore(other, part, other), other);
  });

  test("does not open under another key, nor where its key is not known", async (t) => {
    const key = newKey();
    const part = newPart();
    const { packed: plain } = packed(2, 110);
    await assert.rejects(readAll(part, encryptBody(plain, part, key)), /was not found/);
    finding(t, { keyId: key.keyId, key: createSecretKey(randomBytes(32)) });
    await assert.rejects(readAll(part, encryptBody(plain, part, key)), /cannot be decrypted/);
  });
});
