import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { arrayFields, rowText, textElement, textField } from "../contract/facts-text.ts";
import { elementsOf, fieldsOfRow } from "./read-facts.ts";

const text = fc.option(
  fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", "null", "NULL", "a,b", '"', "\\", '\\"', "{}", "()", " ", "DLX", "x\ny"),
  ),
);

test("fields and arrays of texts are read as they were written", () => {
  fc.assert(
    fc.property(text, fc.array(text), text, (first, items, last) => {
      const row = rowText([textField(first), ...arrayFields(items, [textElement]), textField(last)]);
      const [firstRead, array, lastRead, ...more] = fieldsOfRow(row);
      assert.deepEqual([firstRead, lastRead, more], [first, last, []]);
      // An array without any element that is given is none.
      assert.deepEqual(elementsOf(array), items.every((item) => item === null) ? [] : items);
    }),
    { numRuns: 2_000 },
  );
});
