import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "./csv.ts";

test("rows as CSV: quotes where they are needed, and no formula out of what a partner sent", () => {
  const rows = [
    ["key", "why", "rooms"],
    ['a "b", c', "line\r\nbreak", -3],
    ["=HYPERLINK(1)", "@x", null],
    ["-12.50", "+49", "-x"],
  ];
  assert.equal(
    toCsv(rows),
    'key,why,rooms\r\n"a ""b"", c","line\r\nbreak",-3\r\n\'=HYPERLINK(1),\'@x,\r\n-12.50,\'+49,\'-x\r\n',
  );
});
