import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertLinear } from "../../../../test/support/growth.ts";
import { layOutJson } from "./json-lines.ts";

const shown = (text: string) =>
  layOutJson(text, 100).lines.map(
    ({ depth, name, text }) => `${"  ".repeat(depth)}${name === undefined ? "" : `${name}: `}${text}`,
  );
const pointers = (text: string) =>
  layOutJson(text, 100).lines.flatMap(({ pointer }) => (pointer === "\0" ? [] : [pointer]));

describe("a payload laid out in lines", () => {
  test("keeps every value verbatim, numbers of any length too", () => {
    const text = '{"a":1.50,"b":[12345678901234567890,"x, {y}"],"c":{},"d":[],"e":{"f":null}}';
    assert.deepEqual(shown(text), [
      "{",
      '  "a": 1.50,',
      '  "b": [',
      "    12345678901234567890,",
      '    "x, {y}"',
      "  ],",
      '  "c": {},',
      '  "d": [],',
      '  "e": {',
      '    "f": null',
      "  }",
      "}",
    ]);
  });

  test("gives each value its pointer, with ~ and / escaped (RFC 6901)", () => {
    assert.deepEqual(pointers('{"a/b":[{"m~n":1},2],"":{"\\u0061":3}}'), [
      "",
      "/a~1b",
      "/a~1b/0",
      "/a~1b/0/m~0n",
      "/a~1b/1",
      "/",
      "//a",
    ]);
  });

  test("formats truncated or empty text as far as it goes", () => {
    assert.deepEqual(shown('{"a":[1,2'), ["{", '  "a": [', "    1,", "    2"]);
    assert.deepEqual(shown(""), []);
    assert.deepEqual(shown('{"a":"cut'), ["{", '  "a": "cut']);
    assert.deepEqual(shown('{"a":"\\"cut\\'), ["{", '  "a": "\\"cut', "  \\"]);
  });

  test("ends after the given number of lines", () => {
    const { lines, isWhole } = layOutJson('{"a":[1,2],"b":3}', 3);
    assert.deepEqual([lines.map(({ text }) => text), isWhole], [["{", "[", "1,"], false]);
    assert.equal(layOutJson('{"a":[1,2],"b":3}', 6).isWhole, true);
  });

  for (const [what, textOf] of [
    ["values", (size: number) => `[${"1,".repeat(size)}1]`],
    ["names", (size: number) => `{${'"a":{},'.repeat(size)}"b":1}`],
    ["a string of quotes that is truncated", (size: number) => `{"a":"${'\\"'.repeat(size)}`],
    ["white space", (size: number) => `[${" ".repeat(size)}1${"\n".repeat(size)}`],
  ] as const)
    test(`takes linear time for ${what}`, () => {
      assertLinear(what, textOf, 5_000, (text) => layOutJson(text, Number.POSITIVE_INFINITY));
    });
});
