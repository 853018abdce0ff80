import assert from "node:assert/strict";
import test from "node:test";
import { spanText } from "./amounts.ts";

test("a span uses the largest unit of which it has two, with one decimal", () => {
  for (const [seconds, text] of [
    [943_338_480, "29.9 years"],
    [15_778_800, "182.6 days"],
    [259_200, "3 days"],
    [5_400, "90 minutes"],
    [600, "10 minutes"],
    [624, "10.4 minutes"],
    [90, "90 s"],
    [4.2, "4.2 s"],
  ] as const)
    assert.equal(spanText(seconds), text);
});
