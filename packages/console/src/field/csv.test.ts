import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "./csv.ts";

test("rows as CSV: quoted where necessary, and without formulas from partners' data", () => {
  const rows = [
    ["key", "why", "rooms"],
    ['a "b", c', "line\r\nbreak", -3],
    ["=HYPERLINK(1)", "@x", null],
    ["-12.50", "+49", "-x"],
    ["DLX;=1+1", "a; -b", "c-d;e"],
  ];
  assert.equal(
    toCsv(rows),
    'key,why,rooms\r\n"a ""b"", c","line\r\nbreak",-3\r\n\'=HYPERLINK(1),\'@x,\r\n-12.50,\'+49,\'-x\r\nDLX;\'=1+1,a; \'-b,c-d;e\r\n',
  );
});

test("a quotation mark after a semicolon or line break hides no formula", () => {
  const texts = ['a;"=1+1;b', 'a\n"=1+1\nb', 'a;" "\t@x', 'a "=b" c'];
  const written = ['"a;""\'=1+1;b"', '"a\n""\'=1+1\nb"', '"a;"" ""\t\'@x"', '"a ""=b"" c"'];
  assert.equal(toCsv(texts.map((text) => [text])), written.map((cell) => `${cell}\r\n`).join(""));
});

test("the full-width signs of a formula are signs of one too", () => {
  const signs = ["\uff1d", "\uff0b", "\uff0d", "\uff20"];
  const rows = signs.map((sign) => [`${sign}1+1`, `a;${sign}1`, `a${sign}`]);
  assert.equal(toCsv(rows), signs.map((sign) => `'${sign}1+1,a;'${sign}1,a${sign}\r\n`).join(""));
});

test("with a semicolon, decimals have a comma and codes keep their points", () => {
  const rows = [
    ["stayDate", "adr", "rateCode", "note", "rooms"],
    ["2026-03-29", "1234.50", "1.5", "a;b", 3],
    ["2026-03-30", null, "BAR", 'say "x";=1', -4],
  ];
  assert.equal(
    toCsv(rows, "semicolon"),
    'stayDate;adr;rateCode;note;rooms\r\n2026-03-29;1234,50;1.5;"a;b";3\r\n2026-03-30;;BAR;"say ""x"";\'=1";-4\r\n',
  );
});
