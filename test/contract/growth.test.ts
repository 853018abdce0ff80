import { test } from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { nearest } from "#contract/nearest.ts";
import { readBatch } from "#contract/read-batch.ts";
import { readRecord } from "#contract/read-record.ts";
import { identifyingTextsOf, identityOnly, profileNamesOf, redactRecord } from "#contract/redact-record.ts";
import { withoutFormula } from "#contract/without-formula.ts";
import { toCsv } from "../../packages/console/src/field/csv.ts";
import { assertComparable, assertLinear } from "../support/growth.ts";

const STAY = '{"arrivalDate":"2026-07-14","departureDate":"2026-07-17","roomTypeCode":"DLX"}';
const WITHOUT_DATE = '{"arrivalDate":"2026-13-14","departureDate":"x","roomTypeCode":1,"roomTypeCod":"DLX"}';
const list = (of: string, size: number) => `[${new Array(size).fill(of).join(",")}]`;

/** A reservation with `size` values of one kind, legal and not. */
const WORST: Readonly<Record<string, (size: number) => string>> = {
  "unknown numbers": (size) => `"roomStays":[${STAY}],"x":${list("1", size)}`,
  "unknown objects": (size) => `"roomStays":[${STAY}],"x":${list('{"a":[]}', size)}`,
  "unknown members": (size) =>
    `"roomStays":[${STAY}],"x":{${Array.from({ length: size }, (_, n) => `"k${n}":1`).join(",")}}`,
  "repeated members": (size) => `"roomStays":[${STAY}],"x":{${new Array(size).fill('"k":1').join(",")}}`,
  "misspelt members": (size) =>
    `"roomStays":[${STAY}],${Array.from({ length: size }, (_, n) => `"roomStay${n}":1`).join(",")}`,
  "escaped texts": (size) => `"roomStays":[${STAY}],"x":${list(JSON.stringify('"\\é'.repeat(20)), size * 2)}`,
  "a long name": (size) => `"roomStays":[${STAY}],"${"n".repeat(size * 10)}":1`,
  "a long number": (size) => `"roomStays":[${STAY}],"x":${"1".repeat(size * 10)}`,
  "a text of quotes": (size) => `"roomStays":[${STAY}],"status2":${JSON.stringify('"'.repeat(size))}`,
  "room stays": (size) => `"roomStays":${list(STAY, size)}`,
  "wrong room stays": (size) => `"roomStays":${list(WITHOUT_DATE, size)}`,
  guests: (size) => `"roomStays":[${STAY}],"guests":${list('{"firstName":"Ada","profileId":"P1"}', size)}`,
};

function recordOf(size: number, membersOf: (size: number) => string): Buffer {
  return Buffer.from(
    `{"clientCode":"ACME","propertyCode":"LIS01","reservationId":"R","lastModifiedDateTime":"2026-01-01T00:00:00Z","status":"CONFIRMED",${membersOf(size)}}`,
  );
}

/** What becomes of a record on its way, and in an erasure; a record that one of them refuses counts as well. */
const COMPUTATIONS: Readonly<Record<string, (record: Buffer) => unknown>> = {
  "reading a batch and its violations": (record) => {
    const body = Buffer.concat([Buffer.from("["), record, Buffer.from("]")]);
    const reading = readBatch(body, { recordsMax: 10, depthMax: 16 }, "reservations");
    return reading.ok && reading.records.map((each) => checkRecord("reservations", each, 100));
  },
  "reading a record": (record) => readRecord("reservations", record),
  redaction: (record) => redactRecord("reservations", record),
  "the texts of an erasure": (record) => [
    profileNamesOf(record),
    identifyingTextsOf("reservations", record),
    identityOnly("reservations", record),
  ],
};

for (const [how, run] of Object.entries(COMPUTATIONS))
  test(`${how} takes linear time`, () => {
    const tried = (record: Buffer) => {
      try {
        run(record);
      } catch {
        // An invalid record has no reading.
      }
    };
    for (const [what, membersOf] of Object.entries(WORST))
      assertLinear(`${how} of ${what}`, (size) => recordOf(size, membersOf), 800, tried);
  });

const letters = (number: number) =>
  number.toString(36).replaceAll(/[0-9]/g, (digit) => "ABCDEFGHIJ"[Number(digit)] as string);
/** Four letters of a field swapped with others far away: more than two edits, and the same letters. */
function shuffled(number: number): string {
  const name = [..."threePersonTotalRate"];
  const { length } = name;
  for (let swap = 0; swap < 4; swap += 1) {
    const one = Math.floor(number / length ** swap) % length;
    const other = (one + 7 + swap * 3) % length;
    [name[one], name[other]] = [name[other] as string, name[one] as string];
  }
  return name.join("");
}
/** One letter replaced at the beginning, and four at the end. */
function ruined(number: number): string {
  const end = letters(36 ** 3 + number).padStart(4, "t");
  return `e${"hreePersonTotalRate".slice(0, -end.length)}${end}`;
}

/** Group records whose blocks have unknown names, none of them twice. */
function groupsOf(records: number, names: number, nameOf: (number: number) => string): Buffer[] {
  let next = 0;
  return Array.from({ length: records }, (_, at) => {
    const unknown = new Set<string>();
    while (unknown.size < names) unknown.add(nameOf(next++));
    const block = { occupancyDate: "2026-09-10", roomTypeCode: "A", blocks: 1 };
    const group = {
      clientCode: "ACME",
      propertyCode: "LIS01",
      lastModifiedDateTime: "2026-01-01T00:00:00Z",
      groupCode: `G${at}`,
      groupStatusCode: "DEFINITE",
      startDate: "2026-09-10",
      endDate: "2026-09-12",
      groupBlocks: [{ ...block, ...Object.fromEntries([...unknown].map((name) => [name, 1])) }],
    };
    return Buffer.from(JSON.stringify(group));
  });
}

test("unknown names that resemble fields take about as long as others, in few records and in many", () => {
  for (const [records, names] of [
    [8, 900],
    [200, 30],
  ] as const)
    for (const [what, nameOf] of Object.entries({ shuffled, ruined }))
      assertComparable(
        `${records} records with ${names} ${what} names`,
        {
          usual: groupsOf(records, names, (number) => `zqzqzqzqzqxkxkx${letters(number)}`),
          worst: groupsOf(records, names, nameOf),
          ratioMax: 10,
        },
        (groups) => groups.map((group) => readRecord("groups", group).content().warnings.count),
      );
});

test("a suggestion, a cell and a file for a spreadsheet take linear time", () => {
  for (const text of [" ", ";", " ;", "=", "\t\r", '"', "a"]) {
    const textOf = (size: number) => text.repeat(size);
    assertLinear(`a cell of ${JSON.stringify(text)}`, textOf, 4_000, withoutFormula);
    assertLinear(`a file of ${JSON.stringify(text)}`, textOf, 4_000, (cell) => toCsv([[cell, cell]]));
  }
  const words = (size: number) => Array.from({ length: size }, (_, n) => `word${n}`.repeat(5));
  assertLinear("a suggestion", words, 1_000, (known) => known.map((word) => nearest(word, known)));
});
