import assert from "node:assert/strict";
import { test } from "node:test";
import { millionthsOf } from "./ask-insight.ts";
import { differencesOf } from "./compare-answers.ts";
import type { Books, BooksByNight } from "./expected-books.ts";

const books: Books = { rooms: 2, adults: 3, children: 1, net: 120_500_000n, gross: 127_730_000n };
const nightOf = (group: string | null, changes: Partial<Books> = {}): BooksByNight =>
  new Map([[16_801, new Map([[group, { ...books, ...changes }]])]]);

test("a room, a guest or the smallest part of a cent is a difference, and so is another night or group", () => {
  assert.deepEqual(differencesOf(nightOf("A"), nightOf("A")), []);
  for (const changes of [{ rooms: 1 }, { adults: 4 }, { children: 0 }, { net: 120_500_001n }, { gross: 0n }])
    assert.equal(
      differencesOf(nightOf("A"), nightOf("A", changes)).length,
      1,
      JSON.stringify(Object.keys(changes)),
    );
  assert.deepEqual(differencesOf(nightOf("A"), nightOf(null)), [
    "2016-01-01 -: expected nothing; answered 2 rooms, 3 adults, 1 children, net 120.500000, gross 127.730000",
    "2016-01-01 A: expected 2 rooms, 3 adults, 1 children, net 120.500000, gross 127.730000; answered nothing",
  ]);
});

test("a group with nothing on the books equals no group", () => {
  const nothing = { rooms: 0, adults: 0, children: 0, net: 0n, gross: 0n };
  assert.deepEqual(differencesOf(nightOf("A", nothing), new Map()), []);
  assert.equal(differencesOf(nightOf("A", { ...nothing, net: -1n }), new Map()).length, 1);
});

test("amounts are read exactly, and other text is refused", () => {
  assert.equal(millionthsOf("-6.38"), -6_380_000n);
  assert.equal(millionthsOf("-0.5"), -500_000n);
  assert.equal(millionthsOf("1234567890.000001"), 1_234_567_890_000_001n);
  assert.equal(millionthsOf(null), 0n);
  for (const text of ["1e5", "", "1.", "0.0000001", "NaN"]) assert.throws(() => millionthsOf(text), text);
});
