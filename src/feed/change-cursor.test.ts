import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import { readChangeCursor, writeChangeCursor } from "./change-cursor.ts";

const seal = { key: Buffer.alloc(32, 7), epoch: 0 };
const owner = { clientId: "partner", filters: "[]" };
const position = fc.oneof(fc.nat(300), fc.nat(2 ** 48 - 1));
const positionsOf = fc.oneof(
  fc
    .array(position, { minLength: BUCKET_COUNT, maxLength: BUCKET_COUNT })
    .map((all) => new Map(all.entries())),
  fc.tuple(fc.nat(BUCKET_COUNT - 1), position).map((one) => new Map([one])),
);

test("a cursor gives back the positions it was written of, of all buckets or of one", () => {
  fc.assert(
    fc.property(positionsOf, (positions) => {
      for (const epoch of [0, 1, 2 ** 32 - 1]) {
        const cursor = writeChangeCursor({ ...seal, epoch }, owner, positions);
        assert.match(cursor, /^[A-Za-z0-9_-]{1,800}$/);
        assert.deepEqual(readChangeCursor({ ...seal, epoch }, owner, cursor), positions);
      }
    }),
  );
});

test("a cursor of all buckets, a million changes in each, has less than 300 characters", () => {
  const positions = new Map(
    Array.from({ length: BUCKET_COUNT }, (_, bucket) => [bucket, 1_000_000 + bucket]),
  );
  assert.ok(writeChangeCursor(seal, owner, positions).length < 300);
});

test("a cursor of another client, of other filters or of another installation is none", () => {
  const cursor = writeChangeCursor(seal, owner, new Map([[5, 77]]));
  assert.equal(readChangeCursor(seal, { ...owner, clientId: "other" }, cursor), undefined);
  assert.equal(readChangeCursor(seal, { ...owner, filters: '["a"]' }, cursor), undefined);
  assert.equal(readChangeCursor({ ...seal, key: Buffer.alloc(32, 8) }, owner, cursor), undefined);
});

test("whatever is changed, cut off or made up is no cursor", () => {
  const cursor = writeChangeCursor(seal, owner, new Map([[5, 77]]));
  for (let at = 0; at < cursor.length; at += 1) {
    const other = cursor[at] === "A" ? "B" : "A";
    assert.equal(
      readChangeCursor(seal, owner, cursor.slice(0, at) + other + cursor.slice(at + 1)),
      undefined,
    );
    assert.equal(readChangeCursor(seal, owner, cursor.slice(0, at)), undefined);
  }
  for (const text of ["", "=", "A".repeat(100_000), `${cursor}A`, `${cursor}=`, "ÄÖ", "AQ"])
    assert.equal(readChangeCursor(seal, owner, text), undefined, text.slice(0, 20));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.equal(readChangeCursor(seal, owner, Buffer.from(bytes).toString("base64url")), undefined);
    }),
  );
});

test("a cursor of another epoch is a former one, and one of nobody's stays none", () => {
  const positions = new Map([[5, 77]]);
  const epochs = [0, 1, 0x01020304];
  for (const written of epochs)
    for (const read of epochs.filter((epoch) => epoch !== written)) {
      const cursor = writeChangeCursor({ ...seal, epoch: written }, owner, positions);
      assert.equal(readChangeCursor({ ...seal, epoch: read }, owner, cursor), "former");
      assert.equal(readChangeCursor({ ...seal, epoch: read }, { ...owner, filters: "x" }, cursor), undefined);
    }
});
