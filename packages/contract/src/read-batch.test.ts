import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import test from "node:test";
import fc from "fast-check";
import { LIMITS, recordsOf } from "../../../test/contract/records.ts";
import { ExactNumber } from "./decimal.ts";
import { type BatchReading, type BatchRecord, readBatch, readBatchInTurns } from "./read-batch.ts";

const read = (text: string | Buffer, limits = LIMITS) => readBatch(Buffer.from(text as string), limits);
const codeOf = (reading: BatchReading) => (reading.ok ? "ok" : reading.code.split(".").at(-1));

/** Whether a body is an object and, after it, the beginning of another, with or without a comma between. */
function beginsRecords(body: Buffer): boolean {
  if (!isUtf8(body)) return false;
  const text = body.toString();
  return [...text.matchAll(/\}[ \t\r\n]*,?[ \t\r\n]*\{/g)].some(({ index }) => {
    try {
      const value: unknown = JSON.parse(text.slice(0, index + 1));
      return typeof value === "object" && value !== null && !Array.isArray(value);
    } catch {
      return false;
    }
  });
}

/** What `JSON.parse` says of a body, as a refusal's code or "ok". */
function oracle(body: Buffer): string {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    return beginsRecords(body) ? "NotAnArray" : "MalformedJson";
  }
  if (!Array.isArray(value)) return "NotAnArray";
  return value.length === 0 ? "EmptyBatch" : "ok";
}

test("a batch is read as JSON.parse reads it, element by element", () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1, maxLength: 6 }),
      fc.constantFrom("", " ", "\n\t\r "),
      (values, space) => {
        const parts = values.map((value) => JSON.stringify(value, null, space === "" ? 0 : 2));
        const body = Buffer.from(`${space}[${parts.map((part) => space + part + space).join(",")}]${space}`);
        const reading = read(body);
        assert.ok(reading.ok);
        assert.deepEqual(
          reading.records.map(({ start, end }) => body.toString("utf8", start, end)),
          parts,
        );
        assert.deepEqual(
          reading.records.map(({ index }) => index),
          parts.map((_, index) => index),
        );
        for (const [at, record] of reading.records.entries()) {
          if (record.lexicalTotal === 0 && !/[\d.]{15}|[eE]/.test(parts[at]!))
            assert.deepEqual(record.value, JSON.parse(parts[at]!));
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test("a body is refused exactly when JSON.parse refuses it, whatever bytes are broken", () => {
  const seeds = [
    '[{"a":[1,{"b":"x\\n\\u00e9"}],"c":-1.5e3},"é😀",true,null,[[]]]',
    '{"a":[1]}',
    "[]",
    '[{"a":1},{"a":2}]',
    '["a\\"b","\\\\"]',
  ].map((seed) => Buffer.from(seed));
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(...Buffer.from('[]{},:"\\ \n019.-+eEtfnu/')),
  );
  const change = fc.record({ at: fc.nat(), byte, kind: fc.constantFrom("set", "insert", "delete", "cut") });
  fc.assert(
    fc.property(
      fc.constantFrom(...seeds),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      (seed, changes) => {
        let bytes = [...seed];
        for (const { at, byte: to, kind } of changes) {
          const place = at % (bytes.length + 1);
          if (kind === "set") bytes[place] = to;
          else if (kind === "insert") bytes.splice(place, 0, to);
          else if (kind === "delete") bytes.splice(place, 1);
          else bytes = bytes.slice(0, place);
        }
        const body = Buffer.from(bytes);
        assert.equal(codeOf(read(body)), oracle(body), JSON.stringify(body.toString("latin1")));
      },
    ),
    { numRuns: 20_000 },
  );
});

test("texts of JSON's own characters are accepted and refused as JSON.parse does", () => {
  const token = fc.constantFrom(
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"a"',
    '"',
    "\\",
    "1",
    "0",
    "-",
    ".",
    "e",
    "true",
    "nul",
    " ",
    "\u0001",
    '"\\u',
    "//",
    "'",
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
      const body = Buffer.from(`[${tokens.join("")}`);
      assert.equal(codeOf(read(body)), oracle(body), body.toString());
    }),
    { numRuns: 20_000 },
  );
});

test("reading in turns gives what reading at once gives", async () => {
  const bodies = [
    '[{"a":1,"a":2}]',
    "[1,]",
    "[]",
    JSON.stringify(Array.from({ length: 3000 }, (_, n) => ({ n, text: "x".repeat(200) }))),
  ];
  for (const body of bodies) {
    const visited: BatchRecord[] = [];
    const refusal = await readBatchInTurns(Buffer.from(body), LIMITS, undefined, (record) =>
      visited.push(record),
    );
    assert.deepEqual(refusal ?? { ok: true, records: visited }, read(body));
  }
});

test("reading in turns lets other work run", async () => {
  const body = Buffer.from(
    JSON.stringify(Array.from({ length: 5000 }, (_, n) => ({ n, text: "x".repeat(200) }))),
  );
  let turns = 0;
  let done = false;
  const count = () => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await readBatchInTurns(body, LIMITS, undefined, () => undefined);
  done = true;
  assert.ok(turns > 10, `${turns} turns`);
});

/** Kinds of one large record, each of which took between 10 and 700 ms in one go. */
const LARGE_RECORDS: Readonly<Record<string, string>> = {
  "numbers with exponents": `{"a":[${Array(240_000).fill("1e5").join(",")}]}`,
  "numbers that are unsafe": `{"a":[${Array(240_000).fill("1e400").join(",")}]}`,
  members: `{${Array.from({ length: 240_000 }, (_, at) => `"${at.toString(36)}":1`).join(",")}}`,
  "one text": `{"a":"${"\\ud83d\\ude00".repeat(600_000)}"}`,
  whitespace: `{"a":${" ".repeat(8_000_000)}1}`,
  "a name": `{"${"a".repeat(8_000_000)}":1}`,
};

for (const [what, record] of Object.entries(LARGE_RECORDS))
  test(`reading one large record lets other work run: ${what}`, async () => {
    let turns = 0;
    let done = false;
    const count = () => {
      turns += 1;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    const refusal = await readBatchInTurns(Buffer.from(`[${record}]`), LIMITS, "groups", () => undefined);
    done = true;
    assert.equal(refusal, undefined);
    // One turn per 128 KiB scanned, and more for records that are validated closely.
    assert.ok(turns > 10, `${turns} turns`);
  });

test("a name that occurs twice among many is found, however it is escaped", () => {
  const others = Array.from({ length: 2_000 }, (_, at) => `"n${at}":${at}`).join(",");
  const found = (members: string) =>
    recordsOf(`[{"x":{${members}}}]`).flatMap(({ lexical }) =>
      lexical.map(({ code, pointer }) => `${pointer} ${code}`),
    );
  assert.deepEqual(found(others), []);
  for (const twice of ['"n3":0', '"n1999":0', '"\\u006e3":0', '"n\\u0031999":0'])
    assert.equal(found(`${others},${twice}`)[0]?.replace(/n\d+/, "n"), "/0/x/n name.duplicate", twice);
  assert.deepEqual(found(`${others},"\\u0061é":0,"aé":1,"prototype":2,"proto\\u0074ype":3`), [
    "/0/x/aé name.duplicate",
    "/0/x/prototype name.forbidden",
    "/0/x/prototype name.duplicate",
    "/0/x/prototype name.forbidden",
  ]);
});

test("a large record is read as a small one is: values, violations and codes, and faults with their place", () => {
  const filler = (count: number) => `"filler":[${Array(count).fill("0").join(",")}]`;
  const read2 = (text: string) => {
    const [small, large] = [text.replace("FILLER", filler(0)), text.replace("FILLER", filler(2_000))];
    return [read(`[${small}]`), read(`[${large}]`)].map((reading) => {
      if (!reading.ok) return reading.message.replace(/byte \d+/, "byte");
      const { value, lexical, lexicalTotal, clientCode, propertyCode } = reading.records[0] as BatchRecord;
      const { filler: _, ...rest } = value as Record<string, unknown>;
      return { rest, lexical, lexicalTotal, clientCode, propertyCode };
    });
  };
  const values = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value)),
    fc.constantFrom(
      ...[
        "1e400",
        "-0",
        "1e5",
        "0.12345678901234567890",
        "9007199254740993",
        "1E-400",
        "12e",
        "01",
        "+1",
        "-",
      ],
      ...[
        '"\\u0000"',
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"\\x"',
        '"a',
        "nul",
        "tru e",
        "[1,]",
        '{"a":1,}',
        "{1:1}",
      ],
      ...[
        '{"a":1,"a":[2]}',
        '{"\\u0061":1,"a":2}',
        '{"__proto__":{"a":1}}',
        '{"constructor":1}',
        "[[[[]]]]",
        "]",
      ],
      ...['{"a" :1}', '{"a"\n: 1 , "b":[ ] }', "{ }", "truefalse", "1 1", '{"a"}', '{"a":}'],
    ),
  );
  const member = fc.tuple(fc.constantFrom("clientCode", "propertyCode", "é", "\\u0061"), values);
  fc.assert(
    fc.property(fc.array(member, { maxLength: 4 }), fc.nat(4), (members, place) => {
      const parts = members.map(([name, value]) => `"${name}":${value}`);
      parts.splice(Math.min(place, parts.length), 0, "FILLER");
      const [small, large] = read2(`{${parts.join(",")}}`);
      assert.deepEqual(large, small);
    }),
    { numRuns: 1_000 },
  );
});

test("a hundred thousand brackets are refused at the depth limit, without recursion", () => {
  for (const text of [
    "[".repeat(100_000),
    '[{"a":'.repeat(100_000),
    "{".repeat(100_000),
    `[${'{"a":'.repeat(60_000)}`,
  ]) {
    assert.equal(codeOf(read(text)), text.startsWith("{") ? "NotAnArray" : "MalformedJson");
  }
  const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  assert.equal(codeOf(read(deep(16))), "ok");
  const reading = read(deep(17));
  assert.ok(!reading.ok);
  assert.deepEqual(
    reading.violations.map(({ code, pointer }) => [code, pointer]),
    [["json.depth", "/0"]],
  );
  assert.match(reading.message, /nested deeper than 16/);
});

test("a record more than the limit is refused before anything is parsed", () => {
  assert.equal(codeOf(read("[1,2,3]", { ...LIMITS, recordsMax: 3 })), "ok");
  assert.equal(codeOf(read("[1,2,3,4]", { ...LIMITS, recordsMax: 3 })), "TooManyRecords");
  assert.equal(codeOf(read(`[${"x,".repeat(10_001)}1]`)), "TooManyRecords");
});

test("a malformed body is refused with the record and the byte, and never echoed", () => {
  const cases: [string, number | undefined, number][] = [
    ['[{"a":1},{"b":Geheim}]', 1, 14],
    ['[{"a":1},]', 1, 9],
    ['[{"a":"Geheim\u0001"}]', 0, 13],
    ["[1] x", undefined, 4],
    ['[{"a":01}]', 0, 7],
    ['[{"a" 1}]', 0, 6],
    ['{"Geheim":}', undefined, 10],
    ["", undefined, 0],
  ];
  for (const [text, record, byte] of cases) {
    const reading = read(text);
    assert.ok(!reading.ok && reading.code === "bellhop.contract.MalformedJson", text);
    assert.match(
      reading.message,
      record === undefined
        ? new RegExp(`at byte ${byte},`)
        : new RegExp(`at record ${record}, byte ${byte} of the body`),
      text,
    );
    assert.deepEqual(
      reading.violations.map(({ pointer }) => pointer),
      record === undefined ? [] : [`/${record}`],
    );
    assert.doesNotMatch(JSON.stringify(reading), /Geheim/);
    assert.ok(reading.message.length <= 240);
  }
});

test("a truncated body is an error that says where it ends", () => {
  const whole = '[{"a":"x\\u00e9é"},{"b":[true,{"c":-1.5}]}]';
  const bytes = Buffer.from(whole);
  for (let end = 1; end < bytes.length; end += 1) {
    const reading = read(bytes.subarray(0, end));
    assert.ok(!reading.ok && reading.code === "bellhop.contract.MalformedJson", whole);
    assert.match(
      reading.message,
      /^The body is incomplete JSON: the body ends .*, at byte \d+\.$/,
      whole.slice(0, end),
    );
  }
  const message = (text: string) => {
    const reading = read(text);
    assert.ok(!reading.ok);
    return reading.message;
  };
  const ends = "The body is incomplete JSON: the body ends";
  assert.equal(message("["), `${ends} before record 0, at byte 1.`);
  assert.equal(message('[{"a":1}'), `${ends} after record 0, at byte 8.`);
  assert.equal(message('[{"a":1},{"b":tr'), `${ends} inside record 1, at byte 16.`);
  assert.equal(message('{"a":'), `${ends} inside a value that is not an array, at byte 5.`);
  assert.match(
    message(`[{"a":"${"x".repeat(2 ** 20)}`),
    /inside record 0, which begins at byte 1, at byte 1048583\.$/,
  );
  // A fault before the end is named, not the end.
  assert.match(message('[{"a":1 "b":2,"c":["long enough"'), /at record 0, byte 8 of the body, expected/);
});

test("a byte order mark, ill-formed UTF-8 and other encodings are refused with the byte", () => {
  const at = (body: Buffer) => {
    const reading = read(body);
    assert.ok(!reading.ok && reading.code === "bellhop.contract.MalformedJson");
    return Number(/byte (\d+)/.exec(reading.message)![1]);
  };
  assert.equal(at(Buffer.from("\ufeff[1]")), 0);
  assert.match(JSON.stringify(read(`\ufeff[${" ".repeat(70_000)}1]`)), /byte order mark/);
  for (const utf16 of [Buffer.from("[{}]", "utf16le"), Buffer.from("[{}]", "utf16le").swap16()]) {
    assert.equal(at(utf16), 0);
    assert.match(JSON.stringify(read(utf16)), /UTF-16/);
  }
  assert.equal(at(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])), 2);
  assert.equal(at(Buffer.from([0x5b, 0x22, 0xc0, 0x80, 0x22, 0x5d])), 2);
  assert.equal(
    at(Buffer.concat([Buffer.from('["é'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"]')])),
    4,
  );
  assert.equal(
    at(Buffer.concat([Buffer.from(`["${"é".repeat(50_000)}`), Buffer.from([0xe2, 0x82])])),
    100_002,
  );
});

test("what JSON.parse would hide is found, with its pointer", () => {
  const found = (text: string) =>
    recordsOf(text).flatMap(({ lexical }) => lexical.map(({ code, pointer }) => `${pointer} ${code}`));
  assert.deepEqual(found('[{"a":1,"a":1}]'), ["/0/a name.duplicate"]);
  assert.deepEqual(found('[0,{"x":[{"a/b~":1,"a\\u002fb~":2}]}]'), ["/1/x/0/a~1b~0 name.duplicate"]);
  assert.deepEqual(found('[{"__proto__":1}]'), ["/0/__proto__ name.forbidden"]);
  assert.deepEqual(found('[{"x":{"\\u005f_proto__":{}}}]'), ["/0/x/__proto__ name.forbidden"]);
  assert.deepEqual(found('[{"constructor":{"prototype":{}}}]'), [
    "/0/constructor name.forbidden",
    "/0/constructor/prototype name.forbidden",
  ]);
  assert.deepEqual(found('[{"__proto__":1,"__proto__":2}]'), [
    "/0/__proto__ name.forbidden",
    "/0/__proto__ name.duplicate",
    "/0/__proto__ name.forbidden",
  ]);
  assert.deepEqual(
    found('[{"n":[1e400,-1E400,9007199254740993,9007199254740992,1e-400,1e5,0.1]}]'),
    ["/0/n/0", "/0/n/1", "/0/n/4"].map((p) => `${p} number.unsafe`),
  );
  assert.deepEqual(
    found('[{"t":"\\ud800"},{"t":"\\udc00\\ud800"},{"t":"\\ud83d\\ude00"},{"t":"\\\\ud800"}]'),
    ["/0/t text.surrogate", "/1/t text.surrogate"],
  );
  assert.deepEqual(found('[{"t":"a\\u0000b"},{"\\u0000":1},{"\\udfff":[{"x":"\\u0000"}]}]'), [
    "/0/t text.nul",
    "/1 text.nul",
    "/2 text.surrogate",
    "/2 text.nul",
  ]);
  assert.deepEqual(found('["\\ud800",1e999]'), ["/0 text.surrogate", "/1 number.unsafe"]);
  assert.deepEqual(found('[{"a":{"b":1},"b":{"a":1},"c":[{"a":1},{"a":1}]}]'), []);
  assert.deepEqual(found('[{"x":{"y":{}},"z":"\\u0000","w":[[1]],"v":"\\u0000"}]'), [
    "/0/z text.nul",
    "/0/v text.nul",
  ]);
  assert.deepEqual(found('[{"text":"__proto__ constructor : { } [ ] , 1e400"}]'), []);
});

test("numbers beyond a double's precision keep their source text", () => {
  const [record] = recordsOf('[{"a":0.1234567890123456789,"b":1e5,"c":12.5,"d":"1e5"}]');
  assert.deepEqual(record!.value, {
    a: new ExactNumber("0.1234567890123456789"),
    b: 100_000,
    c: 12.5,
    d: "1e5",
  });
  assert.equal(record!.lexicalTotal, 0);
});

test("a pointer stays valid and short where a partner's names are neither", () => {
  const long = "n".repeat(5000);
  const [record] = recordsOf(`[{"${long}":{"x":{"a":1,"a":2}}}]`);
  assert.deepEqual(
    record!.lexical.map(({ pointer }) => pointer),
    ["/0"],
  );
});

test("a batch of nothing but faults keeps a bounded number of them and counts all", () => {
  const records = recordsOf(
    `[${Array.from({ length: 500 }, () => `{"t":[${'"\\u0000",'.repeat(99)}"\\u0000"]}`).join(",")}]`,
  );
  assert.equal(
    records.reduce((sum, record) => sum + record.lexicalTotal, 0),
    50_000,
  );
  assert.equal(
    records.reduce((sum, record) => sum + record.lexical.length, 0),
    599,
  );
});

test("error messages are printable and short, and truncate the partner's text", () => {
  const [record] = recordsOf(`[{"a\\u001b[31m\\u2028":1,"a\\u001b[31m\\u2028":2,"n":${"9".repeat(400)}}]`);
  assert.equal(record!.lexical.length, 2);
  for (const { message } of record!.lexical) assert.match(message, /^[\x20-\x7e]{1,240}$/);
});

test("the codes of a record are returned only if they can be read", () => {
  const codes = (text: string) =>
    recordsOf(`[${text}]`).map(({ clientCode, propertyCode }) => [clientCode, propertyCode])[0];
  assert.deepEqual(codes('{"clientCode":"C","propertyCode":"P","x":1.5}'), ["C", "P"]);
  assert.deepEqual(codes('{"clientCode":"","propertyCode":7}'), [undefined, undefined]);
  assert.deepEqual(codes('{"__proto__":{"clientCode":"C"},"propertyCode":"P"}'), [undefined, "P"]);
  assert.deepEqual(codes('{"clientCode":"A","client\\u0043ode":"B","propertyCode":"P"}'), [undefined, "P"]);
  assert.deepEqual(codes('{"clientCode":"A\\u0000","propertyCode":"\\ud800"}'), [undefined, undefined]);
  assert.deepEqual(
    codes('{"clientCode":"C","propertyCode":"P","x":{"clientCode":1,"clientCode":"\\u0000"}}'),
    ["C", "P"],
  );
  for (const text of ['"clientCode"', "null", '[{"clientCode":"C"}]', "1"])
    assert.deepEqual(codes(text), [undefined, undefined]);
});

const codesOf = (text: string) => {
  const reading = read(text);
  return reading.ok ? "ok" : reading.violations.map(({ pointer, code }) => `${pointer} ${code}`).join();
};

test("records outside an array are NotAnArray, not malformed", () => {
  for (const body of ['{"a":1}\n{"a":2}\n', '{"a":1}{"a":2', '{"a":"}{"},\n{"a":2}', " {} \r\n {"]) {
    const reading = read(body);
    assert.equal(codeOf(reading), "NotAnArray", body);
    assert.match(reading.ok ? "" : reading.message, /must be a JSON array/);
  }
  for (const body of [
    '{"a":1}\n["b"]',
    '{"a":1}x',
    '{"a":1,}\n{"a":2}',
    '{"a":1}}\n{}',
    '{"a":1},,{}',
    "1\n{}",
  ])
    assert.equal(codeOf(read(body)), "MalformedJson", body);
});

test("exceeding a limit is reported as that limit with its remedy, not as invalid JSON", () => {
  const record = `[${"1,".repeat(249_998)}1]`;
  const message = (text: string) => {
    const reading = read(text);
    return reading.ok ? "ok" : reading.message;
  };
  assert.equal(
    message(`[0,${"[".repeat(1)}${"1,".repeat(250_000)}1]]`),
    "Record 1 (byte 3) exceeds the limit of 250,000 values for one record. Send fewer items in it.",
  );
  assert.equal(
    message(`[${Array(17).fill(record).join(",")}]`),
    "The batch exceeds the limit of 4,000,000 values at record 16 (byte 8000001). Split the batch.",
  );
  assert.equal(
    message(`[1,"${"x".repeat(9_000_000)}"]`),
    "Record 1 (byte 3) exceeds the limit of 8,388,608 bytes for one record. Send fewer items in it.",
  );
});

test("a record or a batch of more values than any hotel has is refused before it is parsed", () => {
  const items = (count: number) => `{"a":[${"1,".repeat(count - 1)}1]}`;
  assert.equal(codesOf(`[${items(249_998)}]`), "ok");
  assert.equal(codesOf(`[0,${items(249_999)}]`), "/1 json.values");
  const record = `[${"1,".repeat(249_998)}1]`;
  assert.equal(codesOf(`[${Array(16).fill(record).join(",")}]`), "ok");
  assert.equal(codesOf(`[${Array(17).fill(record).join(",")}]`), "/16 json.values");
});

test("a field counts as one value, and so does an array at any depth", () => {
  const fields = (count: number) => Array.from({ length: count }, (_, at) => `"f${at}":1`).join(",");
  assert.equal(codesOf(`[{${fields(249_999)}}]`), "ok");
  assert.equal(codesOf(`[{${fields(250_000)}}]`), "/0 json.values");
  // Ten arrays for each comma.
  assert.equal(codesOf(`[[${"[[[[[[[[[[]]]]]]]]]],".repeat(30_000)}1]]`), "/0 json.values");
});

test("a record of more than 8 MiB is refused before the rest of it is read", () => {
  const record = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
  assert.equal(codesOf(`[${record(8_388_608)}, 1]`), "ok");
  assert.equal(codesOf(`[1,${record(8_388_609)}]`), "/1 json.size");
  assert.equal(codesOf(`[1,${record(9_000_000).slice(0, -1)}`), "/1 json.size");
});
