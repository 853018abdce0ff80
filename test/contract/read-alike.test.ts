import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import type { RecordReading } from "#contract/read-record.ts";
import { parsedReading, RecordReader, readRecord } from "#contract/read-record.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { RecordBytes, walkHead, walkSpans } from "#contract/walk-record.ts";
import { validRecords } from "../support/valid-records.ts";
import { generateWorkload } from "../workload/workload.ts";
import { factsText } from "./facts.ts";
import { changed, fullRecord, LIMITS, leastRecord } from "./records.ts";

/** All that a reading says. */
function reported({ content, ...identity }: RecordReading): unknown {
  const { facts, ...rest } = content();
  return { ...identity, ...rest, facts: factsText(facts) };
}

function isWalked(resource: Resource, bytes: Buffer): boolean {
  return walkSpans(resource, new RecordBytes(bytes), 0, bytes.length) !== undefined;
}

/**
 * Fails unless a record that acceptance takes is read alike from its bytes and by parsing it. Answers whether it was
 * walked over; undefined for a record that is not accepted.
 */
function sameEitherWay(resource: Resource, text: string): boolean | undefined {
  const body = Buffer.from(`[${text}]`);
  const reading = readBatch(body, LIMITS);
  const [record] = reading.ok ? reading.records : [];
  if (record === undefined || checkRecord(resource, record, 1).total > 0) return undefined;
  const bytes = body.subarray(record.start, record.end);
  assert.deepEqual(reported(readRecord(resource, bytes)), reported(parsedReading(resource, bytes)), text);
  return isWalked(resource, bytes);
}

/** How many of some texts were walked over. */
function walkedOf(resource: Resource, texts: Iterable<string>): number {
  let walked = 0;
  for (const text of texts) if (sameEitherWay(resource, text) === true) walked += 1;
  return walked;
}

test("the records that the contract shows are read from their bytes, however they are laid out", () => {
  for (const resource of RESOURCES) {
    for (const record of [fullRecord(resource), leastRecord(resource)]) {
      const { [Object.keys(record)[0] as string]: first, ...rest } = record;
      const turned = { ...rest, [Object.keys(record)[0] as string]: first };
      for (const value of [record, turned, { ...record, own: [{ "a b": 1.5e30 }, null, '\u0001x"]}'] }])
        for (const space of [0, 1, "\t"])
          assert.equal(sameEitherWay(resource, JSON.stringify(value, null, space)), true);
    }
  }
});

test("the hash excludes exactly the fields that are not content, at any place and in any spelling", () => {
  const ids = ["\\u0063orrelationId", "correlationId", "correlationIds", "own correlationId"];
  for (const resource of RESOURCES) {
    const { correlationId, ...least } = leastRecord(resource);
    const nested = { ...least, own: { correlationId: 1 }, listed: [{ correlationId }] };
    for (const others of [Object.entries(least), Object.entries(nested)]) {
      for (let place = 0; place <= others.length; place += 1) {
        for (const id of ids) {
          const record = [...others.slice(place), ["@", "c-1"], ...others.slice(0, place)];
          for (const space of [0, 1]) {
            const text = JSON.stringify(Object.fromEntries(record), null, space).replace('"@"', `"${id}"`);
            assert.notEqual(sameEitherWay(resource, text), undefined, text);
          }
        }
      }
    }
  }
});

test("a record is known by its head where that holds all of its identity, with and without a correlation id", () => {
  for (const resource of RESOURCES) {
    const entries = Object.entries(leastRecord(resource)).filter(([name]) => name !== "correlationId");
    const isNested = ([, value]: [string, unknown]) => typeof value === "object";
    const head = entries.filter((entry) => !isNested(entry));
    const nested = entries.filter(isNested);
    const isByHead = (record: readonly [string, unknown][]) => {
      const bytes = Buffer.from(JSON.stringify(Object.fromEntries(record)));
      return walkHead(resource, new RecordBytes(bytes), 0, bytes.length) !== undefined;
    };
    assert.equal(isByHead([...head, ...nested]), true);
    assert.equal(isByHead([["correlationId", "c"], ...head, ...nested]), true);
    assert.equal(isByHead([...head, ...nested, ["correlationId", "c"]]), false);
    assert.equal(isByHead([...nested, ...head]), false);
  }
});

test("nearly all records as hotels send them are read from their bytes", () => {
  const feed = generateWorkload({ seed: 7, records: 4_000, properties: 3 });
  for (const resource of RESOURCES) {
    const texts = feed.filter((message) => message.resource === resource).map(({ json }) => json);
    const walked = walkedOf(resource, texts);
    assert.ok(texts.length > 50 && walked > texts.length * 0.8, `${resource}: ${walked} of ${texts.length}`);
  }
});

for (const resource of RESOURCES) {
  test(`whatever is accepted of ${resource} is read alike from its bytes and by parsing it`, () => {
    let accepted = 0;
    fc.assert(
      fc.property(validRecords(resource), fc.constantFrom(0, 1), (record, space) => {
        if (sameEitherWay(resource, JSON.stringify(record, null, space)) !== undefined) accepted += 1;
      }),
      { numRuns: 1500 },
    );
    assert.ok(accepted > 500, `${accepted} were accepted`);
  });
}

const TEXTS = [
  '""',
  '" "',
  '"NULL"',
  '"nUll"',
  '"a,b"',
  '"{}"',
  '"a\\\\b"',
  '"\\"q\\""',
  '"\\u0041"',
  '"é漢🏨"',
  '"x"',
  "null",
];
const NUMBERS = [
  "0",
  "-0",
  "7",
  "007",
  "-3",
  "1.0",
  "1.50",
  "-1.5",
  "0.00001",
  "1e2",
  "2E-1",
  "123456789",
  "2147483647",
  "12345678901234567890.5",
  "0.1234567890123456789",
  "-0.0",
  "100000000.00",
  "99999999.99",
  "1000000000000",
].flatMap((number) => [number, `"${number}"`]);
const DATES = [
  "2026-07-13",
  "2026-07-14",
  "2026-07-16",
  "2026-07-17",
  "2026-07-18",
  "0001-01-01",
  "9999-12-31",
].map((date) => `"${date}"`);
const TIMES = [
  "2026-02-20T10:15:00Z",
  "2026-02-20T10:15:00.1Z",
  "2026-02-20T10:15:00.123456Z",
  "2026-02-20T10:15:00.123456789Z",
  "2026-02-20T10:15Z",
].map((time) => `"${time}"`);
const MARK = "\u0001mark";

/** JSON pointers of all values of a record that are neither objects nor arrays. */
function leavesOf(value: unknown, at = ""): string[] {
  if (value === null || typeof value !== "object") return [at];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${at}/${name}`));
}

test("each field with any usual or unusual value is read alike from the bytes and by parsing", () => {
  for (const resource of RESOURCES) {
    for (const leaf of leavesOf(fullRecord(resource))) {
      const template = JSON.stringify(changed(fullRecord(resource), leaf, MARK));
      const values = [...TEXTS, ...NUMBERS, ...DATES, ...TIMES, "true", "[]", "{}", '[{"a":[1]}]'];
      walkedOf(
        resource,
        values.map((value) => template.replace(JSON.stringify(MARK), () => value)),
      );
      sameEitherWay(resource, JSON.stringify(changed(fullRecord(resource), leaf, undefined)));
    }
  }
});

/** The items of a record's lists: each taken out, or again with some values changed. */
const items = fc.array(
  fc.record({
    leave: fc.array(fc.nat(30), { maxLength: 3 }),
    set: fc.array(fc.tuple(fc.nat(30), fc.constantFrom(...TEXTS, ...NUMBERS, ...DATES)), { maxLength: 2 }),
  }),
  { maxLength: 4 },
);

test("lists of items with omitted and changed members are read alike", () => {
  let [accepted, walked] = [0, 0];
  fc.assert(
    fc.property(
      fc.constantFrom(...RESOURCES),
      fc.array(items, { minLength: 4, maxLength: 4 }),
      (resource, lists) => {
        let turn = 0;
        const texts: string[] = [];
        const spread = (value: unknown): unknown => {
          if (Array.isArray(value)) {
            const item = value[0] as unknown;
            if (item === null || typeof item !== "object") return value;
            return (lists[turn++ % lists.length] ?? []).map(({ leave, set }) => {
              const members = Object.entries(spread(item) as object);
              for (const at of leave) if (at % 2 === 0) members.splice(at % Math.max(1, members.length), 1);
              for (const [at, text] of set) {
                const member = members[at % Math.max(1, members.length)];
                if (member === undefined || typeof member[1] === "object") continue;
                member[1] = `${MARK}${texts.length}.`;
                texts.push(text);
              }
              return Object.fromEntries(members);
            });
          }
          if (value === null || typeof value !== "object") return value;
          return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, spread(inner)]));
        };
        const json = JSON.stringify(spread(fullRecord(resource))).replace(
          /"\\u0001mark(\d+)\."/g,
          (_, at: string) => texts[Number(at)] as string,
        );
        const way = sameEitherWay(resource, json);
        if (way !== undefined) accepted += 1;
        if (way === true) walked += 1;
      },
    ),
    { numRuns: 4000 },
  );
  assert.ok(accepted > 250 && walked > 200, `${walked} of ${accepted} were walked over`);
});

const edit = fc.record({
  at: fc.nat(100_000),
  remove: fc.constantFrom(0, 0, 1, 1, 2, 5),
  insert: fc.oneof(
    fc.constantFrom(...'{}[]",:\\ \n\t0123456789-+.eEntufalsx', "", "null", "true", '"a":1,', ",", "\\u0041"),
    fc.constantFrom('"own":"x",', '"status":"X",', "[]", "{}", '""', "-0", "é", "2026-07-14", ".50", "00"),
  ),
});

test("a record with anything changed in its text is read alike, where it is accepted", () => {
  let [accepted, walked] = [0, 0];
  fc.assert(
    fc.property(
      fc.constantFrom(...RESOURCES),
      fc.boolean(),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      (resource, full, edits) => {
        let text = JSON.stringify(full ? fullRecord(resource) : leastRecord(resource), null, full ? 0 : 1);
        for (const { at, remove, insert } of edits) {
          const place = at % text.length;
          text = text.slice(0, place) + insert + text.slice(place + remove);
        }
        const way = sameEitherWay(resource, text);
        if (way !== undefined) accepted += 1;
        if (way === true) walked += 1;
      },
    ),
    { numRuns: 8000 },
  );
  assert.ok(accepted > 500 && walked > 450, `${walked} of ${accepted} were walked over`);
});

test("adjacent records are read as each would be alone, though their results share one buffer", () => {
  for (const resource of RESOURCES) {
    const texts = Array.from({ length: 3_000 }, (_, at) =>
      JSON.stringify(
        changed(at % 3 === 0 ? leastRecord(resource) : fullRecord(resource), "/correlationId", `c${at}`),
      ),
    );
    texts[5] = JSON.stringify({ ...fullRecord(resource), correlationId: 'a "quoted" one' });
    const bytes = Buffer.from(texts.join(""));
    const reader = new RecordReader(resource, bytes);
    let at = 0;
    const readings = texts.map((text) => {
      const start = at;
      at += Buffer.byteLength(text);
      return reader.read(start, at);
    });
    texts.forEach((text, place) => {
      assert.deepEqual(
        reported(readings[place] as RecordReading),
        reported(parsedReading(resource, Buffer.from(text))),
      );
    });
  }
});

test("a record with more items than the walk stores is read alike", () => {
  const rates = Array(60_000).fill({ rateValue: "80.00" });
  const many = changed(leastRecord("reservations"), "/roomStays/0/rates", rates);
  assert.equal(sameEitherWay("reservations", JSON.stringify(many)), true);
});

/** A record of so many of what insight counts, and the code that it is warned with. */
const COUNTED = {
  "nights of a stay": { resource: "reservations", most: 1_100, make: (count) => staysOf([count]) },
  "nights of all stays": {
    resource: "reservations",
    most: 11_000,
    make: (count) => staysOf([...Array(10).fill(1_000), count - 10_000]),
  },
  "group blocks": {
    resource: "groups",
    most: 11_000,
    make: (count) => listOf("groups", "groupBlocks", count),
  },
  "room types": {
    resource: "inventories",
    most: 1_000,
    make: (count) => listOf("inventories", "roomTypeInventories", count),
  },
} as const satisfies Record<
  string,
  { readonly resource: Resource; readonly most: number; make(count: number): Record<string, unknown> }
>;

function listOf(resource: Resource, name: string, count: number): Record<string, unknown> {
  const [item] = leastRecord(resource)[name] as object[];
  const code = (at: number) => (name === "groupBlocks" ? {} : { roomTypeCode: `T${at}` });
  return {
    ...leastRecord(resource),
    [name]: Array.from({ length: count }, (_, at) => ({ ...item, ...code(at) })),
  };
}

function staysOf(nights: readonly number[]): Record<string, unknown> {
  const [stay] = leastRecord("reservations")["roomStays"] as object[];
  const departureOf = (count: number) => new Date(Date.UTC(2026, 1, 27 + count)).toISOString().slice(0, 10);
  return {
    ...leastRecord("reservations"),
    roomStays: nights.map((count) => ({
      ...stay,
      arrivalDate: "2026-02-27",
      departureDate: departureOf(count),
    })),
  };
}

test("a record beyond insight's limit has a warning in both paths, and one at the limit has none", () => {
  for (const [name, { resource, most, make }] of Object.entries(COUNTED)) {
    const codesOf = (count: number) => {
      const text = JSON.stringify(make(count));
      sameEitherWay(resource, text);
      return readRecord(resource, Buffer.from(text))
        .content()
        .warnings.list()
        .map(({ code }) => code)
        .filter((code) => code !== "reservation.overlapping-stays");
    };
    assert.deepEqual(codesOf(most), [], name);
    const codes = codesOf(most + 1);
    assert.equal(codes.length, 1, name);
    assert.match(String(codes), /\.too-many-/, name);
  }
});

test("a stay of some years and a group of some thousand blocks are still read from their bytes", () => {
  assert.equal(sameEitherWay("reservations", JSON.stringify(staysOf([1_000]))), true);
  assert.equal(sameEitherWay("reservations", JSON.stringify(staysOf(Array(100).fill(21)))), true);
  assert.equal(sameEitherWay("groups", JSON.stringify(listOf("groups", "groupBlocks", 11_000))), true);
});
