import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertLinear } from "../../../test/support/growth.ts";
import { WordFinder } from "./word-finder.ts";

function findIn(texts: readonly string[], words: readonly string[]): string[] {
  const finder = new WordFinder(words);
  return [...new Set(texts.flatMap((text) => [...finder.wordsIn(text)]))].toSorted();
}

test("finds every word that an expression ignoring case finds", () => {
  const text = fc
    .array(fc.constantFrom(..."aAbBsSſßσςΣkK😀. "), { maxLength: 30 })
    .map((some) => some.join(""));
  fc.assert(
    fc.property(fc.array(text), fc.array(text.filter(({ length }) => length >= 3)), (texts, words) => {
      const found = findIn(texts, words);
      for (const word of words) {
        const expression = new RegExp(word.replaceAll(".", "\\."), "iu");
        if (texts.some((each) => expression.test(each))) assert.ok(found.includes(word), word);
      }
    }),
  );
});

test("finds no word that does not occur, and words of one spelling together", () => {
  assert.deepEqual(findIn(["profile P-1001 of Ann"], ["P-100", "p-1001", "P-1001", "P-10010", "Anna"]), [
    "P-100",
    "P-1001",
    "p-1001",
  ]);
});

test("reads a text in a time that does not depend on the number of words", () => {
  const text = "PROFILE-PROFILE-0 ".repeat(200);
  assertLinear(
    "words",
    (size) => new WordFinder(Array.from({ length: size }, (_, at) => `PROFILE-${at}`)),
    10_000,
    (finder) => [...finder.wordsIn(text)].length,
  );
});
