import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { arrayFields, rowText, textElement, textField } from "../../../test/contract/facts.ts";
import { elementsOf, fieldsOfRow } from "./reservation-nights.ts";

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

test("fields and arrays are read as PostgreSQL writes them, with marks that are doubled", () => {
  const row = String.raw`(,"{""Familie groß"",""a,b"",NULL,""\\""c\\\\""}",1,"say ""yes"" \\ no","")`;
  const [first, array, one, text, last] = fieldsOfRow(row);
  assert.deepEqual([first, one, text, last], [null, "1", String.raw`say "yes" \ no`, ""]);
  assert.deepEqual(elementsOf(array), ["Familie groß", "a,b", null, '"c\\']);
});
