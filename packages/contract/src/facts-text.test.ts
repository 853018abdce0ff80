import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { reservationNights } from "../../../src/apply/ledger/reservation-nights.ts";
import { listText } from "../../../test/contract/facts.ts";
import { elementsOf, factsOfText } from "./facts-text.ts";
import { spansOfFacts } from "./parsed-spans.ts";

const text = fc.option(
  fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", "null", "NULL", "a,b", '"', "\\", '\\"', "{}", "()", " ", "DLX", "x\ny"),
  ),
);

test("facts and lists of strings survive writing and reading", () => {
  fc.assert(
    fc.property(text, fc.array(text), text, (first, items, last) => {
      // A list without any element that is given is none.
      const given = items.every((item) => item === null) ? [] : items;
      const list = given.length === 0 ? null : listText(given);
      const [, firstRead, listRead, lastRead, ...more] = factsOfText(`{${listText([first, list, last])}}`);
      assert.deepEqual([firstRead, lastRead, more], [first, last, []]);
      assert.deepEqual(elementsOf(listRead), given);
    }),
    { numRuns: 2_000 },
  );
});

test("facts are read as PostgreSQL writes an array", () => {
  const text = String.raw`{NULL,"\"Familie groß\",\"a,b\",NULL,\"\\\"c\\\\\"",1,"say \"yes\" \\ no",""}`;
  const [, first, list, one, said, last] = factsOfText(text);
  assert.deepEqual([first, one, said, last], [null, "1", String.raw`say "yes" \ no`, ""]);
  assert.deepEqual(elementsOf(list), ["Familie groß", "a,b", null, '"c\\']);
});

test("a text that ends before a fact does not give it, and facts after the last are let be", () => {
  assert.deepEqual(factsOfText("{}"), [null]);
  const nights = (text: string) => reservationNights(spansOfFacts("reservations", text), "RESERVED");
  const whole = `{C1,NULL,2,NULL,NULL,2026-07-14,2026-07-16,DLX}`;
  assert.equal(nights(whole).runs[0]?.nights, 2);
  assert.equal(nights(whole).runs[0]?.codes.currencyCode, null);
  const places = new Array(33 - 8).fill("NULL").join(",");
  assert.deepEqual(nights(whole.replace("}", `,${places},"a later release",""}`)), nights(whole));
});

test("a text that PostgreSQL does not write is an error, not an endless loop", () => {
  const malformed = [
    "",
    "{",
    "}",
    "a,b",
    '{"',
    '{"a}',
    '{"a\\"}',
    '{"a\\',
    '{1,"a',
    '{"a"b}',
    '{"a""b"}',
    "{1",
    '{1,"a",NULL',
  ];
  for (const text of malformed) assert.throws(() => factsOfText(text), /not an array/, text);
  for (const list of ['"', '"a', '"a\\"', 'b,"a', '"a"b'])
    assert.throws(() => elementsOf(list), /not an array/, list);
});
