import assert from "node:assert/strict";
import { test } from "node:test";
import { table } from "./output.ts";

test("a table may have any number of rows", () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => [String(at), "x"]);
  const lines = table(["ROW", "CELL"], rows);
  assert.equal(lines.length, 200_001);
  assert.deepEqual([lines[0], lines[1], lines.at(-1)], ["ROW     CELL", "0       x", "199999  x"]);
});
