import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { factsText } from "../../../test/contract/facts.ts";
import { isValidRecord } from "../../../test/contract/records.ts";
import { validRecords } from "../../../test/support/valid-records.ts";
import { spansOfFacts } from "./parsed-spans.ts";
import { readRecord, SpanFacts } from "./read-record.ts";
import { COLUMNS } from "./record-plan.ts";
import { redactFacts } from "./redact-facts.ts";
import {
  ERASED,
  hashProfileNames,
  identifyingTextsOf,
  identityOnly,
  PERSONAL_FIELDS,
  redactRecord,
} from "./redact-record.ts";
import { RESOURCES } from "./resource.ts";
import { isBlank } from "./schema/field.ts";
import { FIELDS } from "./schema/record-schemas.ts";

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

/** Every text at the personal paths of a record. */
function personalTexts(value: unknown, path: readonly string[]): string[] {
  const [step, ...rest] = path;
  if (step === undefined) return typeof value === "string" ? [value] : [];
  if (step === "*") return Array.isArray(value) ? value.flatMap((item) => personalTexts(item, rest)) : [];
  return typeof value === "object" && value !== null
    ? personalTexts((value as Record<string, unknown>)[step], rest)
    : [];
}

describe("redacting a record", () => {
  test("every free text of the contract is personal", () => {
    for (const resource of RESOURCES)
      for (const { path, field } of FIELDS[resource])
        assert.ok(
          field.fieldKind !== "text" || field.notes?.personal !== undefined,
          `say why ${resource} ${path} is personal: it is free text`,
        );
  });

  test("leaves a valid record of the same identity, dates and status, without any personal text, and is done once", () => {
    for (const resource of RESOURCES) {
      fc.assert(
        fc.property(validRecords(resource), (record) => {
          const bytes = bytesOf({ ...record, unknown: { name: "Zoe" } });
          const redacted = redactRecord(resource, bytes);
          assert.deepEqual(redactRecord(resource, redacted), redacted);
          const value = JSON.parse(redacted.toString()) as Record<string, unknown>;
          assert.equal(Object.hasOwn(value, "unknown"), false);
          for (const { path } of PERSONAL_FIELDS[resource])
            for (const text of personalTexts(value, path.split("/")))
              assert.ok(text === ERASED || isBlank(text), `${path}: ${text}`);
          const [before, after] = [readRecord(resource, bytes), readRecord(resource, redacted)];
          assert.deepEqual(
            [after.clientCode, after.propertyCode, after.key, after.sourceTime],
            [before.clientCode, before.propertyCode, before.key, before.sourceTime],
          );
          const { facts, ...content } = before.content();
          const { facts: redactedFacts, ...redactedContent } = after.content();
          assert.equal(redactFacts(resource, factsText(facts)), factsText(redactedFacts));
          assert.deepEqual(redactedContent, content);
          assert.ok(isValidRecord(resource, value));
        }),
        { numRuns: 150 },
      );
    }
  });

  test("erases a fact of a list from stored facts as from the record", () => {
    fc.assert(
      fc.property(validRecords("reservations"), (record) => {
        const factsOf = (value: unknown) =>
          factsText(readRecord("reservations", bytesOf(value)).content().facts);
        const roomStays = (record["roomStays"] as Record<string, unknown>[]).map((stay) => {
          const { rateCode } = stay;
          return typeof rateCode === "string" && !isBlank(rateCode) ? { ...stay, rateCode: ERASED } : stay;
        });
        const erased = spansOfFacts(
          "reservations",
          factsOf(record),
          new Map([[COLUMNS.stay.rateCode, ERASED]]),
        );
        assert.equal(factsText(new SpanFacts("reservations", erased)), factsOf({ ...record, roomStays }));
      }),
      { numRuns: 150 },
    );
  });

  test("keeps numbers verbatim", () => {
    const json = `{ "reservationId" : "R" , "numberOfRooms": 1.0, "profiles" : [ {"name":"A\\u006ena"}, {} ], "x":{"y":[1]},
      "stayRevenue":{"daily":[{"netRoomRevenue":12345678901234567890.123400}]} }`;
    assert.equal(
      redactRecord("reservations", Buffer.from(json)).toString(),
      json.replace('"A\\u006ena"', '"[erased]"').replace(/ "x":.*?\n\s*/, ""),
    );
    const edges = [
      ['{"x":1}', "{}"],
      ['{ "x":1 , "status":"S" }', '{"status":"S" }'],
      ['{"status":"S", "x":1, "y":[] , "z":{} }', '{"status":"S"}'],
      ['{"a":1,"status":"S","b":2,"channel":"C","c":{"d":"}"}}', '{"status":"S","channel":"C"}'],
      ['{"profiles":[{"x":1},{"x":1,"id":"P","y":2}]}', '{"profiles":[{},{"id":"[erased]"}]}'],
      ['{"st\\u0061tus":"S","n\\u0061me":1}', '{"st\\u0061tus":"S"}'],
    ] as const;
    for (const [before, after] of edges)
      assert.equal(redactRecord("reservations", Buffer.from(before)).toString(), after);
  });

  test("returns the identifiers of a person, however they are escaped", () => {
    const bytes = Buffer.from(
      '{"profiles":[{"name":"A\\u006ena","id":"P"},{"name":null}],"confirmationNumber":"C"}',
    );
    assert.deepEqual(identifyingTextsOf("reservations", bytes), ["C", "P", "Anna"]);
  });

  test("hashes names alone, and the same name to the same text", () => {
    const bytes = Buffer.from('{"profiles":[{"name":"Anna","id":"P"},{"name":""}],"x": 1}');
    const hashed = hashProfileNames(bytes, (name) => `hash:${name.length}`).toString();
    assert.equal(hashed, '{"profiles":[{"name":"hash:4","id":"P"},{"name":""}],"x": 1}');
  });

  test("keeps only the identity of a rejected record, whatever its content", () => {
    const identity = (text: string) => identityOnly("reservations", Buffer.from(text)).identity.toString();
    assert.equal(
      identity('{"clientCode":"A","propertyCode":"B","reservationId":"C","profiles":"Anna"}'),
      '{"clientCode":"A","propertyCode":"B","reservationId":"C"}',
    );
    for (const text of ["5", "null", '"Anna"', "[]", '{"clientCode":{"name":"Anna"}}', "{"])
      assert.equal(identity(text), "{}");
  });
});
