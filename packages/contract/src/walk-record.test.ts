import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ACCEPTED_JSON, OPEN_JSON, REFUSED_JSON } from "../../../test/contract/json-cases.ts";
import { changed, fullRecord, LIMITS, leastRecord } from "../../../test/contract/records.ts";
import { checkRecord } from "./check-record.ts";
import { type BatchReading, newElementScan, readBatch, readBatchInTurns, scanElement } from "./read-batch.ts";
import { RESOURCES, type Resource } from "./resource.ts";
import type { FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { newRecordWalk, type RecordWalk, walkRecord } from "./walk-record.ts";

const NO_LIMIT = 1e9;
const walkAt = (
  resource: Resource,
  body: Buffer,
  start: number,
  bytesMax: number,
  walk: RecordWalk,
  depthMax = LIMITS.depthMax,
) =>
  walkRecord(
    resource,
    body,
    new DataView(body.buffer, body.byteOffset, body.length),
    start,
    { bytesMax, depthMax },
    walk,
  );
const walks = (resource: Resource, text: string) =>
  walkAt(resource, Buffer.from(text), 0, NO_LIMIT, newRecordWalk());

/** All that a batch says of itself, its records checked. */
function judged(resource: Resource, reading: BatchReading): unknown {
  if (!reading.ok) return reading;
  return reading.records.map((record) => {
    const { index, start, end, value, clientCode, propertyCode, lexical, lexicalTotal } = record;
    const check = checkRecord(resource, record, 100);
    return { index, start, end, value, clientCode, propertyCode, lexical, lexicalTotal, check };
  });
}

/** Fails unless a batch is judged alike whether its records may be walked over or not; answers how many were. */
function sameEitherWay(resource: Resource, text: string | Buffer): number {
  const body = Buffer.from(text as string);
  const walked = readBatch(body, LIMITS, resource);
  assert.deepEqual(judged(resource, walked), judged(resource, readBatch(body, LIMITS)), body.toString());
  return walked.ok ? walked.records.filter(({ validAs }) => validAs === resource).length : 0;
}

test("the records that the contract shows are walked over, and the walk ends and counts where the scan does", () => {
  for (const resource of RESOURCES) {
    for (const record of [fullRecord(resource), leastRecord(resource)]) {
      const body = Buffer.from(`[${JSON.stringify(record, null, 1)} ,0]`);
      const walk = newRecordWalk();
      assert.ok(walkAt(resource, body, 1, NO_LIMIT, walk), resource);
      const scan = newElementScan();
      scanElement(body, 1, LIMITS.depthMax, scan);
      assert.equal(walk.values, scan.values, resource);
      assert.equal(walk.end, scan.end - 1, resource);
      assert.deepEqual(
        [walk.clientCode, walk.propertyCode],
        [record["clientCode"], record["propertyCode"]],
        resource,
      );
    }
  }
});

test("usual records are walked: all fields in partners' formats, unknown ones, escapes, non-ASCII letters", () => {
  const usual: [resource: Resource, pointer: string, value: unknown][] = [
    ["reservations", "/roomStays/0/numberOfAdults", "2"],
    ["reservations", "/roomStays/0/numberOfAdults", -2],
    ["reservations", "/stayRevenue/daily/0/netRoomRevenue", 180.25],
    ["reservations", "/stayRevenue/daily/0/netRoomRevenue", "-0.50"],
    ["reservations", "/cancellationReason", null],
    ["reservations", "/cancellationDateTime", "2026-03-01T08:29:00.123456Z"],
    ["reservations", "/primarySharer", "R-1"],
    ["reservations", "/profiles/0/name", 'Zoë "Q" \\ \u0007 ßlåhaj'],
    ["reservations", "/propertyCode", "Zürich"],
    ["reservations", "/ownNote", "as sent"],
    ["reservations", "/roomStays/0/ownFlag", true],
    ["groups", "/ownNumber", -12.5],
    ["groups", "/groupBlocks", []],
    ["inventories", "/ownNothing", null],
    ["inventories", "/ownObject", { deep: [{ a: 1 }, { a: [null, "x", {}, []] }], a: {} }],
    ["groups", "/ownList", [[1], [{ own: true }]]],
    ["reservations", "/sharers/0", { id: "R-1", names: ["A"] }],
  ];
  for (const [resource, pointer, value] of usual) {
    const text = JSON.stringify(changed(fullRecord(resource), pointer, value));
    assert.ok(walks(resource, text), `${resource}${pointer} ${JSON.stringify(value)}`);
    sameEitherWay(resource, `[${text}]`);
  }
});

test("an unknown number of many digits is walked, and stored as when parsed", () => {
  const record = JSON.stringify(fullRecord("reservations"));
  const withNumber = (number: string) =>
    record.replace("{", `{"own":${number},"list":[${number},{"a":${number}}],`);
  for (const number of [
    "1234567890123456789",
    "-9223372036854775808",
    "9".repeat(64),
    `0.${"0".repeat(61)}1`,
  ]) {
    assert.ok(walks("reservations", withNumber(number)), number);
    assert.equal(sameEitherWay("reservations", `[${withNumber(number)}]`), 1, number);
  }
  for (const number of ["9".repeat(65), "1e5", "01", "-", "1.", "00.5", "-01", "1234567890123456789x"]) {
    assert.ok(!walks("reservations", withNumber(number)), number);
    sameEitherWay("reservations", `[${withNumber(number)}]`);
  }
});

test("one unknown name in several objects is walked over", () => {
  const record = JSON.stringify(fullRecord("reservations"));
  const text = record.replace("{", '{"own":1,').replace('"roomStays":[{', '"roomStays":[{"own":2,"own2":3,');
  assert.ok(walks("reservations", text));
  assert.equal(sameEitherWay("reservations", `[${text},${text}]`), 2);
});

test("a repeated name at any depth is parsed, not walked", () => {
  const record = JSON.stringify(fullRecord("reservations"));
  for (const twice of [
    record.replace("{", '{"status":"CONFIRMED",'),
    record.replace("{", '{"own":1,').replace(/}$/, ',"own":2}'),
    record.replace("{", '{"own":1,').replace('"roomStays":[{', '"own":2,"roomStays":[{"own":3,'),
    record.replace('"rates":[{', '"rates":[{"startDate":"2026-07-14",'),
    record.replace("{", '{"__proto__":1,'),
    record.replace("{", '{"constructor":null,'),
    record.replace("{", '{"o\\u0077n":1,'),
  ]) {
    assert.ok(!walks("reservations", twice), twice.slice(0, 60));
    sameEitherWay("reservations", `[${twice}]`);
  }
});

test("a record that is too deep or too large for the limits is not walked over", () => {
  for (const resource of RESOURCES) {
    const body = Buffer.from(JSON.stringify(fullRecord(resource)));
    assert.ok(!walkAt(resource, body, 0, body.length, newRecordWalk(), 3));
    assert.ok(walkAt(resource, body, 0, body.length, newRecordWalk()));
    assert.ok(!walkAt(resource, body, 0, body.length - 1, newRecordWalk()));
  }
  const codes = { clientCode: "C", propertyCode: "P" };
  const sharers = Array.from({ length: 100_001 }, () => "R");
  sameEitherWay("reservations", JSON.stringify([{ ...fullRecord("reservations"), ...codes, sharers }]));
});

/** The pointers of all values of a full record. */
function pointersOf(schema: FieldSchema, prefix = ""): string[] {
  if (schema.fieldKind === "array")
    return [prefix, ...pointersOf(schema.items as FieldSchema, `${prefix}/0`)];
  const below = Object.entries(schema.properties ?? {});
  return [prefix, ...below.flatMap(([name, field]) => pointersOf(field, `${prefix}/${name}`))];
}

const MARK = "the-value-to-replace";
const TRICKY = [
  "-1",
  "007",
  "-0",
  "1.",
  ".5",
  "+1",
  "1.5",
  "1e5",
  "0.10",
  "2147483647",
  "2147483648",
  "99999999999",
  "123456789012345",
  "1234567890123456",
  "0.1234567890123456",
  "true",
  "null",
  '""',
  '" "',
  '"-"',
  '"1."',
  '"2"',
  '"02"',
  '"-2"',
  '"2.0"',
  '"2.5"',
  '"1e5"',
  '"12345678901234567890123456789012345678"',
  `"${"9".repeat(39)}"`,
  '"999999999"',
  '"2147483648"',
  '"0000000000002"',
  '"2026-02-29"',
  '"2028-02-29"',
  '"2026-7-14"',
  '"2026-07-14 "',
  '"0000-01-01"',
  '"2026-07-14T10:00:00Z"',
  '"2026-07-14T24:00:00Z"',
  '"2026-07-14T10:00:00.1234567Z"',
  '"2026-07-14T10:00:00.123456789Z"',
  '"2026-07-14T10:00:00.1234567890Z"',
  '"2026-07-14T10:00Z"',
  '"2026-07-14T10:00"',
  '"2026-07-14T10:00.5Z"',
  '"2026-07-14T10:00:00.Z"',
  '"2026-07-14T10:00:00z"',
  '"2026-07-14T10:00:60Z"',
  '"COMMIT"',
  '"commit"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\u00e9"',
  '"\\ud83d\\ude00"',
  '"\\ud83d\\ud83d"',
  '"\\ude00\\ud83d"',
  '"\\ud83dx"',
  '"\\ud83d\\u0041"',
  `"${"x".repeat(128)}"`,
  `"${"é".repeat(128)}"`,
  `"${"x".repeat(129)}"`,
  `"${"😀".repeat(4096)}"`,
  `"${"y".repeat(4097)}"`,
  "[]",
  "[{}]",
  "{}",
  "[[]]",
  "[null]",
  '{"a":1}',
  "[1,]",
  "{,}",
  '"\n"',
  '"\\x"',
  '"',
];

test("any value in any field is validated alike, walked or parsed", () => {
  const cases = [...Object.values({ ...ACCEPTED_JSON, ...REFUSED_JSON }).flat(), ...OPEN_JSON, ...TRICKY];
  const texts = cases.filter((text): text is string => typeof text === "string");
  let walked = 0;
  for (const resource of RESOURCES) {
    for (const pointer of pointersOf(RECORD_SCHEMAS[resource]).filter((one) => one !== "")) {
      const template = JSON.stringify(changed(fullRecord(resource), pointer, MARK));
      for (const text of TRICKY)
        walked += sameEitherWay(resource, `[${template.replace(`"${MARK}"`, () => text)}]`);
    }
    const template = JSON.stringify({ ...fullRecord(resource), own: MARK });
    for (const text of texts)
      walked += sameEitherWay(resource, `[${template.replace(`"${MARK}"`, () => text)}]`);
  }
  assert.ok(walked > 1000, `${walked} were walked over`);
});

const edit = fc.record({
  at: fc.nat(100_000),
  remove: fc.constantFrom(0, 0, 1, 1, 2, 5),
  insert: fc.oneof(
    fc.constantFrom(...'{}[]",:\\ \n\t0123456789-+.eEntufalsx', "", "null", "true", '"a":1,', ",", "\\u0041"),
    fc.constantFrom('"own":"x",', '"status":"X",', "[]", "{}", '""', "-0", "é", "\u0000", "2026-07-14"),
  ),
});

test("a record with anything changed in its text is judged alike, walked over or parsed", () => {
  let walked = 0;
  const resource = fc.constantFrom(...RESOURCES);
  fc.assert(
    fc.property(resource, fc.boolean(), fc.array(edit, { minLength: 1, maxLength: 3 }), (of, full, edits) => {
      let text = JSON.stringify(full ? fullRecord(of) : leastRecord(of), null, full ? 0 : 1);
      for (const { at, remove, insert } of edits) {
        const place = at % text.length;
        text = text.slice(0, place) + insert + text.slice(place + remove);
      }
      // Who reads without a resource knows no field, and reports a number that no double holds beside its check.
      if (/\d[eE]\+?\d{3}/.test(text)) return;
      walked += sameEitherWay(of, `[${text}]`);
    }),
    { numRuns: 6000 },
  );
  assert.ok(walked > 500, `${walked} were walked over`);
});

test("bytes that are no UTF-8, or hardly, are judged alike", () => {
  const template = Buffer.from(JSON.stringify([{ ...fullRecord("groups"), name: MARK }]));
  const at = template.indexOf(MARK);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), (bytes) => {
      sameEitherWay(
        "groups",
        Buffer.concat([template.subarray(0, at), bytes, template.subarray(at + MARK.length)]),
      );
    }),
    { numRuns: 2000 },
  );
});

test("in a batch, records that are walked over and others keep their order, and the first fault counts as before", async () => {
  const one = (changes: object) => JSON.stringify({ ...fullRecord("groups"), ...changes });
  const parts = [
    one({}),
    one({ own: { deep: [1] } }),
    one({ propertyCode: "P2" }),
    one({ startDate: "x" }),
    "7",
  ];
  const faults = ["{", "nul", one({}).slice(0, -1), `${"[".repeat(20)}${"]".repeat(20)}`, '{"a":1,"a":2}'];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...parts, ...parts, ...parts, ...faults), { minLength: 1, maxLength: 30 }),
      async (records) => {
        const text = `[${records.join(" ,\n")}]`;
        sameEitherWay("groups", text);
        const visited: number[] = [];
        const body = Buffer.from(text);
        await readBatchInTurns(body, LIMITS, "groups", ({ index }) => visited.push(index));
        assert.deepEqual(visited, [...visited.keys()]);
      },
    ),
    { numRuns: 300 },
  );
  const alike = ["Ã©", "é", "Ã©", "Z", "é"].map((propertyCode) => one({ propertyCode })).join(",");
  assert.equal(sameEitherWay("groups", `[${alike}]`), 5);
  const many = `[${Array.from({ length: 40 }, (_, n) => (n < 20 ? one({ own: 1e30 }) : one({}))).join(",")}]`;
  assert.equal(sameEitherWay("groups", many), 0, "after eight that cannot be walked over no other is tried");
});
