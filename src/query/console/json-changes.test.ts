import assert from "node:assert/strict";
import { test } from "node:test";
import { changesBetween } from "./record-history.ts";

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
