import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { placeAbove } from "./place-above.ts";

test("is the first place above a limit, as a search from the beginning finds it", () => {
  const numbers = fc
    .array(fc.integer({ min: -5, max: 5 }))
    .map((all) => all.sort((one, other) => one - other));
  fc.assert(
    fc.property(numbers, fc.integer({ min: -6, max: 6 }), (ascending, limit) => {
      const found = ascending.findIndex((each) => each > limit);
      const expected = found < 0 ? ascending.length : found;
      assert.equal(placeAbove(ascending, limit), expected);
      assert.equal(placeAbove(Int32Array.from(ascending), limit), expected);
    }),
  );
});
