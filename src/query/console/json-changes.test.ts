import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLinear } from "../../../test/support/growth.ts";
import { compareRecords } from "./json-changes.ts";

function changesBetween(before: string, after: string, most: number) {
  const compared = compareRecords(Buffer.from(before), Buffer.from(after), most);
  assert(compared !== undefined);
  return compared;
}

const changesOf = (before: string, after: string) =>
  changesBetween(before, after, 100).changes.map(({ path: _, ...change }) => change);

test("changed, added and removed values are listed by pointer, verbatim", () => {
  assert.deepEqual(
    changesOf(
      '{"status":"CONFIRMED","stays":[{"rate":120.50,"code":"A"},{"rate":1}],"gone":null,"a/b~c":1}',
      '{"a/b~c":2,"status":"CANCELLED","stays":[{"code":"A","rate":120.5}],"new":{"deep":[1e2,"x"]}}',
    ),
    [
      { pointer: "/a~1b~0c", before: "1", after: "2" },
      { pointer: "/status", before: '"CONFIRMED"', after: '"CANCELLED"' },
      { pointer: "/stays/0/rate", before: "120.50", after: "120.5" },
      { pointer: "/stays/1/rate", before: "1", after: null },
      { pointer: "/new/deep/0", before: null, after: "1e2" },
      { pointer: "/new/deep/1", before: null, after: '"x"' },
      { pointer: "/gone", before: "null", after: null },
    ],
  );
});

test("a number that no double can hold keeps its last digit", () => {
  assert.deepEqual(changesOf('{"n":90071992547409931}', '{"n":90071992547409932}'), [
    { pointer: "/n", before: "90071992547409931", after: "90071992547409932" },
  ]);
});

test("the same text in another spelling, and another order of fields, are no change", () => {
  assert.deepEqual(changesOf('{"a":"\\u0041","b":1}', '{"b":1,"a":"A"}'), []);
});

test("a list in the place of a text is one change, and a field named __proto__ is a field", () => {
  assert.deepEqual(changesOf('{"a":"x","__proto__":1}', '{"a":["x"],"__proto__":2}'), [
    { pointer: "/a", before: '"x"', after: '["x"]' },
    { pointer: "/__proto__", before: "1", after: "2" },
  ]);
});

test("an added, removed or moved night is compared with itself, and named in the path", () => {
  const night = (occupancyDate: string, revenue: number) => ({ occupancyDate, revenue });
  const of = (...daily: object[]) => JSON.stringify({ daily });
  const [first, second, third] = [night("2026-07-14", 1), night("2026-07-15", 2), night("2026-07-16", 3)];
  assert.deepEqual(
    changesBetween(of(second, third), of(first, night("2026-07-15", 20), third), 100).changes.map(
      ({ pointer, path, before, after }) => [pointer, path.join(" "), before, after],
    ),
    [
      ["/daily/0/occupancyDate", "daily 2026-07-14 occupancyDate", null, '"2026-07-14"'],
      ["/daily/0/revenue", "daily 2026-07-14 revenue", null, "1"],
      ["/daily/1/revenue", "daily 2026-07-15 revenue", "2", "20"],
    ],
  );
  assert.deepEqual(changesOf(of(first, second, third), of(third, first)), [
    { pointer: "/daily/1/occupancyDate", before: '"2026-07-15"', after: null },
    { pointer: "/daily/1/revenue", before: "2", after: null },
  ]);
  // One room type in place of another is its change; entries that share a name go by place.
  const stay = (roomTypeCode: string) => JSON.stringify([{ roomTypeCode }]);
  assert.deepEqual(changesOf(stay("STD"), stay("DLX")), [
    { pointer: "/0/roomTypeCode", before: '"STD"', after: '"DLX"' },
  ]);
  assert.deepEqual(changesOf(of(first, first), of(first, first)), []);
  assert.deepEqual(changesOf('{"a":[]}', '{"b":{}}'), [
    { pointer: "/b", before: null, after: "{}" },
    { pointer: "/a", before: "[]", after: null },
  ]);
});

test("changes beyond the limit are counted only", () => {
  const of = (value: number) => JSON.stringify(Array.from({ length: 50 }, () => value));
  const { changes, total } = changesBetween(of(1), of(2), 10);
  assert.equal(changes.length, 10);
  assert.equal(total, 50);
});

/** Pairs of records that differ in `size` values each, by what a partner may send in an unknown field. */
const WORST: Readonly<Record<string, (size: number, side: number) => object>> = {
  numbers: (size, side) => Array.from({ length: size }, () => side),
  "numbers of a shorter list": (size, side) => Array.from({ length: side === 0 ? size : 1 }, () => 1),
  "objects without a name": (size, side) => Array.from({ length: size / 2 }, () => ({ x: side })),
  "objects with names in reverse": (size, side) =>
    Array.from({ length: size / 2 }, (_, n) => ({ roomTypeCode: side === 0 ? n : size - n })),
  "members of an object": (size, side) =>
    Object.fromEntries(Array.from({ length: size }, (_, n) => [`k${n}`, side])),
  "members of other names": (size, side) =>
    Object.fromEntries(Array.from({ length: size }, (_, n) => [`k${side}${n}`, 1])),
};

for (const [what, listOf] of Object.entries(WORST))
  test(`comparing ${what} takes linear time`, () => {
    const inputOf = (size: number) =>
      [0, 1].map((side) => JSON.stringify({ unknown: listOf(size, side) })) as [string, string];
    assertLinear(what, inputOf, 1_600, ([before, after]) => changesBetween(before, after, 200));
  });

test("records of very many values are not compared, whatever their bytes", () => {
  const of = (count: number) => Buffer.from(JSON.stringify({ unknown: new Array(count).fill(0) }));
  assert.equal(compareRecords(of(16_000), of(16_001))?.total, 1);
  assert.equal(compareRecords(of(120_000), of(1)), undefined);
  assert.equal(compareRecords(of(1), of(120_000)), undefined);
});

test("listed differences are bounded, however long names and values are", () => {
  const of = (value: number) =>
    JSON.stringify({ ["n".repeat(20_000)]: new Array(200).fill(value), text: "x".repeat(100_000 + value) });
  const { changes, total } = changesBetween(of(1), of(2), 200);
  assert.equal(total, 201);
  assert.ok(JSON.stringify(changes).length < 150_000);
  const whole = changesOf('{"a":[]}', JSON.stringify({ a: "x".repeat(100_000) }))[0];
  assert.match(whole?.after ?? "", /^"x{8199}…$/);
});
