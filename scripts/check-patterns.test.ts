import assert from "node:assert/strict";
import { test } from "node:test";
import { growthOf, patternsOf } from "./check-patterns.ts";

test("an expression whose time grows faster than its text is refused", () => {
  for (const [source, growth] of [
    [String.raw`\s*;\s*`, /^2nd degree polynomial/],
    [String.raw`^\s*x\s*$`, undefined],
    ["(a+)+$", /^exponential/],
    [String.raw`\/+$`, /^2nd degree polynomial/],
    ["^(?:a|aa)*b", /^exponential/],
    ["^[a-z]+$", undefined],
    [String.raw`(?<![\w.])night(?!\w)`, undefined],
  ] as const) {
    const found = growthOf({ source, flags: "" });
    if (growth === undefined) assert.equal(found, undefined, source);
    else assert.match(found ?? "linear", growth, source);
  }
});

test("literals and constructed expressions of a file are found", () => {
  const text = [
    "const MAX = 3;",
    'const WORD = "[^/]{1," + "8}";',
    "const CODE = `[^/]{1,$" + "{MAX}}`;",
    "const one = /a\\/b/gi;",
    "const two = new RegExp(`^($" + "{CODE})$`, 'u');",
    "const three = RegExp(String.raw`\\d$" + "{CODE}`);",
  ].join("\n");
  assert.deepEqual(patternsOf("some.ts", text), [
    { place: "some.ts:4", source: "a\\/b", flags: "gi" },
    { place: "some.ts:5", source: "^([^/]{1,3})$", flags: "u" },
    { place: "some.ts:6", source: "\\d[^/]{1,3}", flags: "" },
  ]);
  assert.throws(() => patternsOf("some.ts", "new RegExp(given)"), /needs an example/);
});
