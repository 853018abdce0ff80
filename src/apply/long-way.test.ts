import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { logPart } from "../../test/support/log-part.ts";
import type { LogPart } from "./backlog.ts";
import { withoutLong } from "./long-way.ts";

/** A part of a bucket; `long` ones have a body. */
function part(bucket: number, name: string, isLong = false): LogPart {
  return { ...logPart(bucket, name), body: isLong ? Buffer.alloc(1) : null };
}

const isLong = ({ body }: LogPart) => body !== null;
const namesOf = (parts: readonly LogPart[]) => parts.map(({ requestId }) => requestId);

describe("what goes the long way", () => {
  it("is a bucket whose next part is long, with all that follows in it", () => {
    const parts = [part(1, "a", true), part(2, "b"), part(1, "c"), part(2, "d"), part(1, "e", true)];
    const { near, long } = withoutLong(parts, isLong);
    assert.deepEqual(namesOf(near), ["b", "d"]);
    assert.deepEqual(long, [1]);
  });

  it("is not yet a bucket that has something else before: that is applied first, and nothing behind the long one", () => {
    const parts = [part(1, "a"), part(2, "b"), part(1, "c", true), part(1, "d"), part(2, "e")];
    const { near, long } = withoutLong(parts, isLong);
    assert.deepEqual(namesOf(near), ["a", "b", "e"]);
    assert.deepEqual(long, []);
  });

  it("is nothing where nothing is long", () => {
    const parts = [part(1, "a"), part(2, "b")];
    assert.deepEqual(withoutLong(parts, isLong), { near: parts, long: [] });
  });
});
