import { test } from "node:test";
import { assertLinear } from "../../../test/support/growth.ts";
import { toCsv } from "../../console/src/field/csv.ts";
import { nearest } from "./nearest.ts";
import { checkRecord, readBatch } from "./read-batch.ts";
import { readRecord } from "./read-record.ts";
import { identifyingTextsOf, identityOnly, profileNamesOf, redactRecord } from "./redact-record.ts";
import { withoutFormula } from "./without-formula.ts";

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

test("a suggestion, a cell and a file for a spreadsheet take linear time", () => {
  for (const text of [" ", ";", " ;", "=", "\t\r", '"', "a"]) {
    const textOf = (size: number) => text.repeat(size);
    assertLinear(`a cell of ${JSON.stringify(text)}`, textOf, 4_000, withoutFormula);
    assertLinear(`a file of ${JSON.stringify(text)}`, textOf, 4_000, (cell) => toCsv([[cell, cell]]));
  }
  const words = (size: number) => Array.from({ length: size }, (_, n) => `word${n}`.repeat(5));
  assertLinear("a suggestion", words, 1_000, (known) => known.map((word) => nearest(word, known)));
});
