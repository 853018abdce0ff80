import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import fc from "fast-check";
import { contentHash, contentRuns } from "./content-hash.ts";

const IGNORED = ["lastModifiedDateTime", "correlationId"];
const hashOf = (text: string) => {
  const record = Buffer.from(text);
  return contentHash(record, contentRuns(record, IGNORED));
};

/** An object's members as JSON texts, in order. */
const members = fc.uniqueArray(
  fc.tuple(
    fc.string({ unit: "grapheme", maxLength: 6 }).filter((name) => !IGNORED.includes(name)),
    fc.jsonValue({ maxDepth: 3 }),
  ),
  { maxLength: 6, selector: ([name]) => name },
);
const written = (list: readonly (readonly [string, unknown])[]) =>
  list.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);

test("the source time and the correlation id do not affect the hash, at any place", () => {
  fc.assert(
    fc.property(
      members,
      fc.string(),
      fc.string(),
      fc.nat(),
      fc.nat(),
      (list, time, correlation, first, second) => {
        const kept = written(list);
        const all = [...kept];
        all.splice(first % (all.length + 1), 0, `"lastModifiedDateTime":${JSON.stringify(time)}`);
        all.splice(second % (all.length + 1), 0, `"correlationId":${JSON.stringify(correlation)}`);
        assert.equal(hashOf(`{${all.join(",")}}`), hashOf(`{${kept.join(",")}}`));
      },
    ),
    { numRuns: 2000 },
  );
});

test("records that differ in anything else have different hashes", () => {
  fc.assert(
    fc.property(members, members, (one, other) => {
      const [a, b] = [written(one).join(","), written(other).join(",")];
      assert.equal(
        hashOf(`{"correlationId":"x",${a === "" ? '"z":0' : a}}`) === hashOf(`{${b === "" ? '"z":0' : b}}`),
        a === b,
      );
    }),
    { numRuns: 1000 },
  );
});

test("any changed byte of what counts changes the hash", () => {
  const text =
    '{"a":"x,y","lastModifiedDateTime":"t","b":{"correlationId":"inner","c":[1,2]},"correlationId":"q","d":"\\"}"}';
  const seen = new Map<string, string>();
  for (let at = 1; at < text.length - 1; at += 1) {
    const other = `${text.slice(0, at)}7${text.slice(at + 1)}`;
    try {
      JSON.parse(other);
    } catch {
      continue;
    }
    const within = (name: string) =>
      JSON.stringify(
        Object.entries(JSON.parse(other)).filter(([key]) => key !== name && !IGNORED.includes(key)),
      );
    const hash = hashOf(other);
    const content = within("");
    if (seen.has(hash)) assert.equal(seen.get(hash), content, other);
    seen.set(hash, content);
  }
  assert.ok(seen.size > 10);
});

test("only the top-level fields of these names are excluded, also with escaped names", () => {
  assert.equal(hashOf('{"a":1,"correlation\\u0049d":"x"}'), hashOf('{"a":1}'));
  assert.notEqual(hashOf('{"a":{"correlationId":"x"}}'), hashOf('{"a":{"correlationId":"y"}}'));
  assert.notEqual(hashOf('{"a":"\\"correlationId\\":1"}'), hashOf('{"a":"\\"correlationId\\":2"}'));
  assert.notEqual(hashOf('{"correlationid":"x"}'), hashOf('{"correlationid":"y"}'));
});

test("whitespace around the record and around excluded members does not count", () => {
  assert.equal(hashOf(' { "correlationId" : "x" , "a" : 1 } '), hashOf('{"a" : 1}'));
  assert.equal(hashOf('{"a":1 , "correlationId":"x"\n}'), hashOf('{"a":1}'));
});

test("the hash is 16 bytes of SHA-256 over the members that count, so it can be computed elsewhere", () => {
  const expected = createHash("sha256").update('{"a":1,"b":2}').digest().subarray(0, 16).toString("hex");
  assert.equal(hashOf('{"a":1,"lastModifiedDateTime":"t","b":2}'), expected);
});

test("a record larger than the shared buffer is hashed the same way", () => {
  const text = JSON.stringify({ a: "x".repeat(200_000), correlationId: "c", b: 1 });
  const expected = createHash("sha256")
    .update(text.replace('"correlationId":"c",', ""))
    .digest()
    .subarray(0, 16)
    .toString("hex");
  assert.equal(hashOf(text), expected);
});
