import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BodyLayout, packBody, type RecordSlice } from "./body-layout.ts";
import type { PartName, StoredBody } from "./part-name.ts";
import { rewriteBody } from "./rewrite-body.ts";

const PART: PartName = { bucket: 7, requestId: "01890000-0000-7000-8000-000000000001" };

/** Records of growing size under every third index, as a part has them whose batch lies in several buckets. */
function packed(count: number): StoredBody {
  const texts = Array.from({ length: count }, (_, n) => JSON.stringify({ n, name: "x".repeat(n % 700) }));
  const slices: RecordSlice[] = [];
  let start = 0;
  texts.forEach((text, n) => {
    slices.push({ index: n * 3, start, end: start + text.length });
    start += text.length;
  });
  return packBody(Buffer.from(texts.join("")), slices);
}

function recordsOf({
  layout,
  body,
}: StoredBody): Map<number, { text: string; hashOverride: string | undefined }> {
  const read = new BodyLayout(layout);
  const records = [...read.allRecords(body)].map(({ index, bytes }, position) => {
    assert.equal(read.indexAt(position), index);
    assert.equal(read.positionOf(index), position);
    return [index, { text: bytes.toString(), hashOverride: read.hashOverrideAt(position) }] as const;
  });
  return new Map(records);
}

/** One record as a reader of single records finds it: by its chunk alone. */
function recordAt({ layout, body }: StoredBody, index: number): string | undefined {
  const read = new BodyLayout(layout);
  const position = read.positionOf(index);
  const { from, bytes, chunk } = read.rangeOf(position);
  for (const record of read.recordsOf(chunk, body.subarray(from, from + bytes)))
    if (record.position === position) return record.bytes.toString();
  return undefined;
}

const HASH = "00112233445566778899aabbccddeeff";

describe("rewriting a stored body", () => {
  test("keeps every other record, its index and its place, also across chunks", async () => {
    const before = packed(400);
    const after = await rewriteBody(PART, before, ({ index }) => {
      if (index === 0) return "drop";
      if (index === 297) return { bytes: Buffer.from('{"n":99}'), contentHash: HASH };
      return index === 1197 ? { bytes: Buffer.from("null"), contentHash: undefined } : "keep";
    });
    assert.ok(after !== undefined);
    const expected = recordsOf(before);
    expected.set(0, { text: "", hashOverride: undefined });
    expected.set(297, { text: '{"n":99}', hashOverride: HASH });
    expected.set(1197, { text: "null", hashOverride: undefined });
    assert.deepEqual(recordsOf(after), expected);
    for (const [index, { text }] of expected) assert.equal(recordAt(after, index), text);
  });

  test("rewriting again keeps the first result, and needs nothing that was dropped", async () => {
    const once = await rewriteBody(PART, packed(3), ({ index }) =>
      index === 0 ? "drop" : { bytes: Buffer.from(`[${index}]`), contentHash: HASH },
    );
    assert.ok(once !== undefined);
    const asked: [number, string | undefined][] = [];
    const twice = await rewriteBody(PART, once, ({ index, hashOverride }) => {
      asked.push([index, hashOverride]);
      return index === 3 ? "drop" : "keep";
    });
    assert.deepEqual(asked, [
      [3, HASH],
      [6, HASH],
    ]);
    assert.deepEqual(recordsOf(twice as StoredBody).get(6), { text: "[6]", hashOverride: HASH });
    assert.deepEqual(recordsOf(twice as StoredBody).get(3), { text: "", hashOverride: undefined });
  });

  test("all records may be dropped, or all kept without a rewrite", async () => {
    const before = packed(70);
    const none = await rewriteBody(PART, before, () => "drop");
    assert.equal(none?.body.length, 0);
    assert.equal(new BodyLayout(none?.layout as Buffer).recordCount, 70);
    assert.equal(await rewriteBody(PART, before, () => "keep"), undefined);
  });

  test("an earlier layout has no hash overrides", () => {
    const { layout } = packed(2);
    assert.equal(layout.length, 4 * (2 + 3 + 4));
    assert.equal(new BodyLayout(layout).hasHashOverrides, false);
  });
});
