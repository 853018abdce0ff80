import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { checkRecord } from "#contract/check-record.ts";
import type { RecordReading } from "#contract/read-record.ts";
import { readRecord } from "#contract/read-record.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { factsText } from "./facts.ts";
import { changed, fullRecord, recordsOf } from "./records.ts";

const SOURCE_TIME = {
  inventories: "createDateTime",
  reservations: "lastModifiedDateTime",
  groups: "lastModifiedDateTime",
} as const;

/** Reads a record's text as accept and apply do. */
function readText(resource: Resource, text: string): RecordReading {
  const [record] = recordsOf(`[${text}]`);
  assert.ok(record !== undefined && checkRecord(resource, record, 100).total === 0, text);
  return readRecord(resource, Buffer.from(text));
}

const hashOf = (reading: RecordReading): string => reading.contentHash;
/** All that a reading says but which content it is and when it was made. */
const meaningOf = ({ contentHash: _hash, sourceTime: _time, content, ...identity }: RecordReading) => ({
  ...identity,
  ...content(),
  facts: factsText(content().facts),
});

/** How a value may be written: choices, used in turn. */
interface Spelling {
  readonly whiteSpace: readonly string[];
  readonly rotations: readonly number[];
  readonly escapes: readonly boolean[];
  readonly exponents: readonly boolean[];
}
const spelling: fc.Arbitrary<Spelling> = fc.record({
  whiteSpace: fc.array(fc.constantFrom("", " ", "\n", "\t", "\r\n "), { minLength: 1, maxLength: 7 }),
  rotations: fc.array(fc.nat(9), { minLength: 1, maxLength: 5 }),
  escapes: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
  exponents: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
});

/** Writes a value as JSON in a spelling: members rotated, letters escaped, white space, whole numbers as `20e-1`. */
function written(value: unknown, { whiteSpace, rotations, escapes, exponents }: Spelling): string {
  let turn = 0;
  const next = <Choice>(choices: readonly Choice[]): Choice => {
    turn += 1;
    return choices[turn % choices.length] as Choice;
  };
  const text = (plain: string): string => {
    const json = JSON.stringify(plain);
    if (!next(escapes) || !/^"[a-zA-Z]/.test(json)) return json;
    return `"\\u${plain.charCodeAt(0).toString(16).padStart(4, "0")}${json.slice(2)}`;
  };
  const write = (part: unknown): string => {
    const space = next(whiteSpace);
    if (typeof part === "string") return space + text(part) + space;
    if (typeof part === "number" && Number.isInteger(part) && next(exponents))
      return part === 0 ? "0.0" : `${space}${part}0e-1`;
    if (Array.isArray(part)) return `${space}[${part.map(write).join(",")}]${space}`;
    if (part === null || typeof part !== "object") return JSON.stringify(part);
    const members = Object.entries(part);
    const start = next(rotations) % Math.max(members.length, 1);
    const rotated = [...members.slice(start), ...members.slice(0, start)];
    return `${space}{${rotated.map(([name, inner]) => `${text(name)}${space}:${write(inner)}`).join(",")}}${space}`;
  };
  return write(value);
}

test("a record spelled otherwise means the same, whatever its white space, order of members, escapes and numbers", () => {
  fc.assert(
    fc.property(fc.constantFrom(...RESOURCES), spelling, (resource, spelled) => {
      const record = fullRecord(resource);
      const plain = readText(resource, JSON.stringify(record));
      const other = readText(resource, written(record, spelled));
      assert.deepEqual(meaningOf(other), meaningOf(plain));
      assert.equal(other.sourceTime, plain.sourceTime);
    }),
    { numRuns: 400 },
  );
});

test("only the source time and the correlation id may differ between records of one content", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...RESOURCES),
      fc.constantFrom("", ".0", ".000", ".000000", ".5", ".123456"),
      fc.integer({ min: 0, max: 59 }),
      fc.option(fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }), { nil: undefined }),
      fc.nat(),
      (resource, fraction, second, correlationId, place) => {
        const record = fullRecord(resource);
        const time = `2026-02-03T04:05:${String(second).padStart(2, "0")}${fraction}Z`;
        const { [SOURCE_TIME[resource]]: _time, correlationId: _id, ...content } = record;
        const members = Object.entries(content);
        // They may stand anywhere among the others.
        members.splice(place % (members.length + 1), 0, [SOURCE_TIME[resource], time]);
        if (correlationId !== undefined) members.unshift(["correlationId", correlationId]);
        const plain = readText(resource, JSON.stringify(record));
        const other = readText(resource, JSON.stringify(Object.fromEntries(members)));
        assert.equal(hashOf(other), hashOf(plain));
        assert.deepEqual(meaningOf(other), meaningOf(plain));
        assert.equal(other.sourceTime, `${time.slice(0, 19)}.${fraction.slice(1).padEnd(6, "0")}Z`);
      },
    ),
    { numRuns: 400 },
  );
});

/** JSON pointers of all values of a record that are neither objects nor arrays. */
function leavesOf(value: unknown, at = ""): string[] {
  if (value === null || typeof value !== "object") return [at];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${at}/${name}`));
}

test("a record with any value changed or omitted, at any depth, has another content hash", () => {
  for (const resource of RESOURCES) {
    const record = fullRecord(resource);
    const plain = hashOf(readRecord(resource, Buffer.from(JSON.stringify(record))));
    const content = leavesOf(record).filter(
      (leaf) => leaf !== `/${SOURCE_TIME[resource]}` && leaf !== "/correlationId",
    );
    assert.ok(content.length > 10);
    for (const leaf of content) {
      for (const to of [undefined, "2026-01-02", 7]) {
        const other = changed(record, leaf, to);
        const reading = tryToRead(resource, other);
        if (reading !== undefined && JSON.stringify(other) !== JSON.stringify(record))
          assert.notEqual(hashOf(reading), plain, leaf);
      }
    }
  }
});

/** A changed record that is not valid any more is never read. */
function tryToRead(resource: Resource, value: unknown): RecordReading | undefined {
  const [record] = recordsOf(`[${JSON.stringify(value)}]`);
  if (record === undefined || checkRecord(resource, record, 1).total > 0) return undefined;
  return readRecord(resource, Buffer.from(JSON.stringify(value)));
}
