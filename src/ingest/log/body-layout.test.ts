import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyLayout, packBody } from "./stored-body.ts";

test("chunks without requested records are not decompressed", () => {
  const texts = Array.from({ length: 200 }, (_, n) => JSON.stringify({ n, name: "x".repeat(100) }));
  let end = 0;
  const slices = texts.map((text, n) => {
    const start = end;
    end += text.length;
    return { index: n * 2, start, end };
  });
  const { layout, body } = packBody(Buffer.from(texts.join("")), slices);
  // Sixty-four records a chunk: the second lacks one, the third is whole.
  const without = new Set([...slices.slice(65, 128), ...slices.slice(128, 192)].map(({ index }) => index));
  const read = new BodyLayout(layout);
  const inflated = [...read.chunksOf(body, without)];
  assert.deepEqual(
    inflated.map(({ firstRecord, recordCount }) => [firstRecord, recordCount]),
    [
      [0, 64],
      [64, 64],
      [192, 8],
    ],
  );
  assert.equal(inflated[1]?.bytes.toString(), texts.slice(64, 128).join(""));
  assert.equal([...read.chunksOf(body)].length, 4);
});
