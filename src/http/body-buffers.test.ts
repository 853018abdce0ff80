import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyBuffers } from "./body-buffers.ts";

const MIB = 1_048_576;

test("a buffer that was given back is used again for a body that fits, and by one body at a time", () => {
  const buffers = new BodyBuffers();
  const first = buffers.take(200_000);
  assert.ok(first.length >= 200_000);
  assert.notEqual(buffers.take(200_000), first);
  buffers.giveBack(first);
  assert.equal(buffers.take(250_000), first);
  assert.notEqual(buffers.take(250_000), first);
});

test("no more than 8 MiB are kept, and nothing larger than 4 MiB", () => {
  const buffers = new BodyBuffers();
  const large = buffers.take(5 * MIB);
  buffers.giveBack(large);
  assert.notEqual(buffers.take(5 * MIB), large);
  const taken = Array.from({ length: 20 }, () => buffers.take(MIB));
  for (const buffer of taken) buffers.giveBack(buffer);
  const again = Array.from({ length: 20 }, () => buffers.take(MIB));
  assert.equal(again.filter((buffer) => taken.includes(buffer)).length, 8);
});
