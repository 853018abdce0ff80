import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyLayout, freeChunk, packBody } from "./body-layout.ts";

test("chunks without requested records are not decompressed", () => {
  const texts = Array.from({ length: 800 }, (_, n) => JSON.stringify({ n, name: "x".repeat(100) }));
  let end = 0;
  const slices = texts.map((text, n) => {
    const start = end;
    end += text.length;
    return { index: n * 2, start, end };
  });
  const { layout, body } = packBody(Buffer.from(texts.join("")), slices);
  // Chunks have 256 records: the second lacks one, the third is whole.
  const without = new Set([...slices.slice(257, 512), ...slices.slice(512, 768)].map(({ index }) => index));
  const read = new BodyLayout(layout);
  const inflated = [...read.chunksOf(body, without)];
  assert.deepEqual(
    inflated.map(({ firstRecord, recordCount }) => [firstRecord, recordCount]),
    [
      [0, 256],
      [256, 256],
      [768, 32],
    ],
  );
  assert.equal(inflated[1]?.bytes.toString(), texts.slice(256, 512).join(""));
  assert.equal([...read.chunksOf(body)].length, 4);
});

test("a chunk's memory is freed if it was inflated, and kept if it is the stored body's", () => {
  const chunkOf = (text: string) => {
    const { layout, body } = packBody(Buffer.from(text), [{ index: 0, start: 0, end: text.length }]);
    const [chunk] = [...new BodyLayout(layout).chunksOf(body)];
    assert.ok(chunk !== undefined);
    freeChunk(chunk.bytes);
    return { chunk: chunk.bytes, body };
  };
  assert.equal(chunkOf(`"${"x".repeat(100_000)}"`).chunk.length, 0);
  const { chunk, body } = chunkOf('"short"');
  assert.equal(chunk.toString(), '"short"');
  assert.equal(body.toString(), '"short"');
});
