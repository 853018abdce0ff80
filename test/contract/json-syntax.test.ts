import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { readBatch } from "#contract/read-batch.ts";
import { ACCEPTED_JSON, OPEN_JSON, REFUSED_JSON } from "./json-cases.ts";
import { LIMITS } from "./records.ts";

const code = (body: Buffer | string) => {
  const reading = readBatch(Buffer.from(body as string), LIMITS);
  return reading.ok ? "ok" : reading.code.split(".").at(-1);
};

for (const [section, texts] of Object.entries(ACCEPTED_JSON)) {
  test(`JSON ${section} are accepted as RFC 8259 has them, as an element and as a field`, () => {
    for (const text of texts) {
      for (const body of [
        `[${text}]`,
        `[0,${text}]`,
        `[{"a":${text}}]`,
        ` [ ${text} , ${text} ] `,
        `[[${text}]]`,
      ]) {
        assert.equal(code(body), "ok", JSON.stringify(body));
      }
    }
  });
}

for (const [section, texts] of Object.entries(REFUSED_JSON)) {
  test(`JSON ${section} are refused where RFC 8259 has them not`, () => {
    for (const text of texts) {
      for (const body of [`[${text}]`, `[0,${text}]`, `[${text},0]`, `[{"a":${text}}]`]) {
        // Some fragments complete their surroundings ("1]" and such): JSON.parse says which.
        let valid = true;
        try {
          JSON.parse(body);
        } catch {
          valid = false;
        }
        if (!valid) assert.equal(code(body), "MalformedJson", JSON.stringify(body));
      }
      assert.equal(code(`[0,${text}]`), "MalformedJson", JSON.stringify(text));
    }
  });
}

test("JSON that is not an array is NotAnArray; anything else is malformed", () => {
  for (const body of ["{}", "1", '"a"', "null", "true", ' {"a":[1]} ', "-1.5", '{"a":1}\n{"a":2}\n'])
    assert.equal(code(body), "NotAnArray", body);
  for (const body of [
    "",
    " ",
    "{",
    "{]",
    "a",
    "1 2",
    "tru",
    '"',
    "]",
    "}",
    ",",
    "{} []",
    "\0",
    "[] []",
    "[1]]",
    "[1]x",
    "[1],",
  ])
    assert.equal(code(body), "MalformedJson", JSON.stringify(body));
  for (const body of ["[]", " [ ] ", "\n[\n]\n"]) assert.equal(code(body), "EmptyBatch", body);
});

test("bytes that are not UTF-8 are refused: overlong forms, surrogates, beyond U+10FFFF, cut sequences, other encodings", () => {
  const sequences = [
    [0x80],
    [0xbf],
    [0xc0, 0xaf],
    [0xc1, 0xbf],
    [0xc3],
    [0xe0, 0x80, 0xaf],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xf0, 0x80, 0x80, 0xaf],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xfe],
    [0xff],
    [0xe9],
  ];
  for (const sequence of sequences) {
    const text = Buffer.concat([Buffer.from('["'), Buffer.from(sequence), Buffer.from('"]')]);
    assert.equal(code(text), "MalformedJson", String(sequence));
    assert.equal(
      code(Buffer.concat([Buffer.from("[1]"), Buffer.from(sequence)])),
      "MalformedJson",
      String(sequence),
    );
  }
  for (const encoding of ["utf16le", "latin1"] as const)
    assert.equal(code(Buffer.from('["é"]', encoding)), "MalformedJson");
  const gzip = readBatch(gzipSync("[{}]"), LIMITS);
  assert.match(gzip.ok ? "" : gzip.message, /gzip signature; send it with Content-Encoding: gzip/);
});

test("what RFC 8259 leaves open is stored exactly or refused with a pointer, never changed", () => {
  for (const text of OPEN_JSON) {
    const body = Buffer.from(`[${text}]`);
    const reading = readBatch(body, LIMITS);
    assert.ok(reading.ok, text);
    const [record] = reading.records;
    assert.equal(body.toString("utf8", record!.start, record!.end), text);
    for (const { pointer } of record!.lexical) assert.ok(pointer.startsWith("/0"));
  }
});
