import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { BellhopError } from "./error.ts";
import { type RecordSource, readRecords } from "./read-records.ts";

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function textsOf(source: RecordSource): Promise<string[]> {
  const texts: string[] = [];
  for await (const record of readRecords(source)) texts.push(record.toString());
  return texts;
}

const RECORDS = [
  '{"a":"é漢, ]}\\"[{\\\\"}',
  '{"n":1234567890123456789.5,"deep":[[{"x":[]}],{}]}',
  "{}",
  '{"t":"\\u005d"}',
];
const FORMS = {
  "a JSON array": `[${RECORDS.join(",")}]`,
  "a JSON array with whitespace everywhere": ` \n[\r\n${RECORDS.join(" \t,\n ")}\n] \n`,
  "a record a line": RECORDS.join("\n"),
  "a record a line, with carriage returns, empty lines and a mark at the beginning": `\ufeff\n\n${RECORDS.join("\r\n\n")}\r\n`,
};

describe("the records of a file", () => {
  for (const [name, text] of Object.entries(FORMS)) {
    test(`are read from ${name}, byte for byte, in chunks of any size, plain and gzip`, async () => {
      const plain = Buffer.from(text);
      for (const bytes of [plain, gzipSync(plain)])
        for (const size of [1, 2, 3, 7, 64, 10_000])
          assert.deepEqual(await textsOf(inPieces(bytes, size)), RECORDS, `${size} bytes`);
    });
  }

  test("know the line on which they begin", async () => {
    const linesOf = async (text: string, size: number) => {
      const lines: (number | undefined)[] = [];
      for await (const { line } of readRecords(inPieces(Buffer.from(text), size))) lines.push(line);
      return lines;
    };
    for (const size of [1, 3, 10_000]) {
      assert.deepEqual(await linesOf('\n{"a":1}\n\n{"b":2}\r\n{}', size), [2, 4, 5]);
      assert.deepEqual(await linesOf('[\n {\n"a": "\\n"\n},\n\n{}, {}\n,\n7]', size), [2, 6, 6, 8]);
    }
  });

  test("may be none", async () => {
    assert.deepEqual(await textsOf(inPieces(Buffer.from(" [ ] "), 1)), []);
  });

  test("are cut where brackets and texts say, also where one is no JSON", async () => {
    assert.deepEqual(await textsOf(inPieces(Buffer.from("[{a},nope,{}]"), 4)), ["{a}", "nope", "{}"]);
    assert.deepEqual(await textsOf(inPieces(Buffer.from('{"a":\n{}\nnope'), 4)), ['{"a":', "{}", "nope"]);
  });

  const UNREADABLE: Record<string, [text: string | Buffer, said: RegExp]> = {
    nothing: ["", /it is empty/],
    whitespace: [" \n ", /it is empty/],
    "another format": [
      "id,arrival\n1,2026-01-01",
      /it is not JSON\. Send a JSON array, or one JSON record per line \(NDJSON\)\.$/,
    ],
    "UTF-16": [Buffer.from("[{}]", "utf16le"), /it is UTF-16 or UTF-32\. Save it as UTF-8\.$/],
    "UTF-16 with a mark": [Buffer.from("\ufeff[{}]", "utf16le"), /it is UTF-16/],
    "an array that was cut off": ['[{"a":1},{"a"', /ends before the array's/],
    "two commas": ["[{},,{}]", /on line 1, at byte 4, a record was expected/],
    "a comma at the end": ["[{}\n,\n]", /on line 3, at byte 6, a record was expected/],
    "two arrays": ["[{}]\n[{}]", /on line 2, at byte 5, its end was expected/],
    "gzip that was cut off": [gzipSync(FORMS["a JSON array"]).subarray(0, 40), /not whole gzip/],
    "gzip with a fault": [
      Buffer.concat([gzipSync("[{}]").subarray(0, 10), Buffer.alloc(40, 7)]),
      /not whole gzip/,
    ],
  };
  for (const [name, [text, said]] of Object.entries(UNREADABLE)) {
    test(`are refused from ${name}`, async () => {
      await assert.rejects(textsOf(inPieces(Buffer.from(text), 5)), (error: BellhopError) => {
        assert.equal(error.exception, "client.UnreadableInput");
        assert.match(error.message, said);
        return true;
      });
    });
  }

  test("of a path, and a file that is not there", async (context) => {
    const directory = await mkdtemp(join(tmpdir(), "bellhop-records-"));
    context.after(() => rm(directory, { recursive: true }));
    const path = join(directory, "records.json.gz");
    await writeFile(path, gzipSync(FORMS["a JSON array"]));
    assert.deepEqual(await textsOf(path), RECORDS);
    await assert.rejects(textsOf(join(directory, "none")), { code: "ENOENT" });
  });
});
