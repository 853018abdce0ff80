// Cases of RFC 8259, section by section, written for this project. The categories follow what public JSON parsing test suites
// try: what must be accepted, what must be refused, and what the RFC leaves to the parser.
import assert from "node:assert/strict";
import test from "node:test";
import { readBatch } from "./read-batch.ts";
import { LIMITS } from "./test-records.ts";

const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  literals: ["true", "false", "null"],
  numbers: [
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "0.5",
    "-0.5",
    "1.0",
    "1e1",
    "1E1",
    "1e+1",
    "1e-1",
    "0e0",
    "0e1",
    "1.5e3",
    "123456789012345",
    "0.00000000000000000001",
    "1e0000001",
  ],
  texts: [
    '""',
    '"a"',
    '"\\""',
    '"\\\\"',
    '"\\/"',
    '"/"',
    '"\\b\\f\\n\\r\\t"',
    '"\\u0041"',
    '"\\u00e9"',
    '"\\uABCD"',
    '"\\uabcd"',
    '"é"',
    '"€"',
    '"😀"',
    '"\\ud83d\\ude00"',
    '"\u007f"',
    '"\u2028\u2029"',
    '"\\u2028"',
    '"\uffff"',
    '"\\uffff"',
    '"a//b/*c*/"',
    '" "',
    '"\\\\u0000"',
    '"\'"',
  ],
  arrays: ["[]", "[[]]", "[ ]", "[null]", "[1,2]", "[[[[[[[]]]]]]]", '["]"]', '["[",","]'],
  objects: [
    "{}",
    "{ }",
    '{"":0}',
    '{"a":{}}',
    '{"a":1,"b":2}',
    '{"a b":[]}',
    '{"\\u0061":1}',
    '{"}":"{"}',
    '{"é":"é"}',
    '{"a":"b","c":{"a":"b"}}',
  ],
  whitespace: [" 1 ", "\n1\n", "\t1\t", "\r1\r", '{ "a" : 1 , "b" : [ 1 , 2 ] }', '{\r\n\t"a":\n1}'],
};

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  literals: [
    "True",
    "TRUE",
    "tru",
    "truee",
    "nul",
    "nulL",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "-NaN",
    "nan",
    "fals",
    "t",
    "True1",
  ],
  numbers: [
    "01",
    "-01",
    "00",
    "-",
    "+1",
    "--1",
    "1.",
    ".5",
    "-.5",
    "1.e1",
    "1e",
    "1e+",
    "1e-",
    "1E",
    "0x1",
    "1_000",
    "1,000.5.1",
    "1 000",
    "0b1",
    "0o7",
    "1.2.3",
    "1e1.5",
    "1ee1",
    "１",
    "1a",
    "-a",
    "0e",
    "1eE2",
    "2.e3",
    "-2.",
    "1/2",
    "0.1.2",
  ],
  texts: [
    "'a'",
    '"a',
    'a"',
    '"',
    '"\\"',
    '"\\x41"',
    '"\\u"',
    '"\\u00"',
    '"\\u004"',
    '"\\u00g0"',
    '"\\U0041"',
    '"\\a"',
    '"\\',
    '"\\ud800\\"',
    '"\n"',
    '"\t"',
    '"\r"',
    '"\0"',
    '"\u001f"',
    '"\\\n"',
    "`a`",
    '"a" "b"',
    '"a""b"',
    "\\u0041",
    '"\\v"',
    '"\\0"',
    "a",
    "é",
  ],
  arrays: [
    "[",
    "[1",
    "[1,",
    "[,1]",
    "[1,,2]",
    "[1,]",
    "[,]",
    "[1 2]",
    "[1;2]",
    "[1:2]",
    "[}",
    "[1}",
    '["a":1]',
    "[[]",
    "[]]",
    "[1]]",
    "][",
    "]",
  ],
  objects: [
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1,,"b":2}',
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    '{"a" 1}',
    '{"a",1}',
    '{"a"=1}',
    '{"a":1 "b":2}',
    '{"a":1]',
    '{"a":}',
    "{:1}",
    '{"a"}',
    '{"a"::1}',
    "{null:1}",
    '{"a":1}}',
    "{{}}",
    '{"a":1}{"b":2}',
    '{"a":b}',
    "{[]:1}",
    "}",
  ],
  "comments and other extensions": [
    "/**/1",
    "1//",
    "1 /* a */",
    "#1",
    '{"a":/*b*/1}',
    "1;",
    "(1)",
    "<1>",
    "function(){}",
    "new Date()",
    "/a/",
    "1\u00a0",
    "\u00a01",
    "1\u2060",
    "\v1",
    "\f1",
    "\u00851",
    "\ufeff1",
    "1\0",
  ],
};

const code = (body: Buffer | string) => {
  const reading = readBatch(Buffer.from(body as string), LIMITS);
  return reading.ok ? "ok" : reading.code.split(".").at(-1);
};

for (const [section, texts] of Object.entries(ACCEPTED)) {
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

for (const [section, texts] of Object.entries(REFUSED)) {
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

test("a body that is JSON and no array is told so; one that is not JSON is malformed", () => {
  for (const body of ["{}", "1", '"a"', "null", "true", ' {"a":[1]} ', "-1.5"])
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
});

test("what RFC 8259 leaves open is either kept exactly or refused with a pointer, never changed", () => {
  const open = [
    "1e400",
    "-1e400",
    "123456789012345678901234567890",
    "-123123123123123123123",
    "0.4e00669999999999999999999",
    "1e-10000",
    "9007199254740993",
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ud800\\u0041"',
    '"\\udead"',
    '{"a":1,"a":2}',
    '{"a":1,"a":1}',
    '{"__proto__":1}',
    '"\\u0000"',
    "100000000000000000000",
    "1.7976931348623157e308",
    "4.9e-324",
    "0.1000000000000000055511151231257827",
    "-0",
  ];
  for (const text of open) {
    const body = Buffer.from(`[${text}]`);
    const reading = readBatch(body, LIMITS);
    assert.ok(reading.ok, text);
    const [record] = reading.records;
    assert.equal(body.toString("utf8", record!.start, record!.end), text);
    for (const { pointer } of record!.lexical) assert.ok(pointer.startsWith("/0"));
  }
});
