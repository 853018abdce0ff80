import assert from "node:assert/strict";
import test from "node:test";
import { csvCell, quotedCell } from "./csv-cell.ts";

test("a cell has quotation marks only if it has a comma, a line break or such marks, which it doubles", () => {
  assert.deepEqual(["", "a;b c", "a,b", 'a"b', "a\rb", "a\nb"].map(csvCell), [
    "",
    "a;b c",
    '"a,b"',
    '"a""b"',
    '"a\rb"',
    '"a\nb"',
  ]);
  assert.equal(quotedCell(""), '""');
});
