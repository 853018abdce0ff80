import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUCKET_COUNT } from "../../ingest/log/part-name.ts";
import { ChangeCursors } from "./change-cursor.ts";

const key = Buffer.alloc(32, 7);
const owner = { clientId: "partner", filters: "[]" };
const cursors = new ChangeCursors({ key, epoch: 0 }, owner);
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
        const ofEpoch = new ChangeCursors({ key, epoch }, owner);
        const cursor = ofEpoch.write(positions);
        assert.match(cursor, /^[A-Za-z0-9_-]{1,800}$/);
        assert.deepEqual(ofEpoch.read(cursor), positions);
      }
    }),
  );
});

test("a cursor's length is that of its question: no position and no epoch shows in it", () => {
  fc.assert(
    fc.property(positionsOf, fc.nat(2 ** 32 - 1), (positions, epoch) => {
      const { length } = new ChangeCursors({ key, epoch }, owner).write(positions);
      assert.equal(length, positions.size === 1 ? 52 : 555);
    }),
  );
});

test("two cursors of the same positions are different ones", () => {
  const positions = new Map([[5, 77]]);
  assert.notEqual(cursors.write(positions), cursors.write(positions));
});

test("a cursor of another client, of other filters or of another installation is none", () => {
  const cursor = cursors.write(new Map([[5, 77]]));
  for (const other of [
    new ChangeCursors({ key, epoch: 0 }, { ...owner, clientId: "other" }),
    new ChangeCursors({ key, epoch: 0 }, { ...owner, filters: '["a"]' }),
    new ChangeCursors({ key: Buffer.alloc(32, 8), epoch: 0 }, owner),
  ])
    assert.equal(other.read(cursor), undefined);
});

test("changed, truncated or invented text is not a cursor", () => {
  const cursor = cursors.write(new Map([[5, 77]]));
  for (let at = 0; at < cursor.length; at += 1) {
    const other = cursor[at] === "A" ? "B" : "A";
    assert.equal(cursors.read(cursor.slice(0, at) + other + cursor.slice(at + 1)), undefined);
    assert.equal(cursors.read(cursor.slice(0, at)), undefined);
  }
  for (const text of ["", "=", "A".repeat(100_000), `${cursor}A`, `${cursor}=`, "ÄÖ", "AQ"])
    assert.equal(cursors.read(text), undefined, text.slice(0, 20));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.equal(cursors.read(Buffer.from(bytes).toString("base64url")), undefined);
    }),
  );
});

test("a cursor of another epoch is recognized as former; an invented one is not", () => {
  const positions = new Map([[5, 77]]);
  const epochs = [0, 1, 0x01020304];
  for (const written of epochs)
    for (const read of epochs.filter((epoch) => epoch !== written)) {
      const cursor = new ChangeCursors({ key, epoch: written }, owner).write(positions);
      assert.equal(new ChangeCursors({ key, epoch: read }, owner).read(cursor), "former");
      const asked = { ...owner, filters: "x" };
      assert.equal(new ChangeCursors({ key, epoch: read }, asked).read(cursor), undefined);
    }
});
