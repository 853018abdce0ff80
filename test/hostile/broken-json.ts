import type { SeededRandom } from "../workload/seeded-random.ts";
import { plainShot, type ShotMaker, validBatch } from "./shot.ts";

function randomBytes(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}

const valid: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = JSON.stringify(records, null, random.pick([0, 0, 2]));
  return plainShot("valid", "served", token, body, { resource });
};

const truncated: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = Buffer.from(JSON.stringify(records));
  return plainShot("truncated", "refused", token, body.subarray(0, random.between(0, body.length - 1)), {
    resource,
  });
};

const bitFlipped: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = Buffer.from(JSON.stringify(records));
  for (let flips = random.between(1, 4); flips > 0; flips -= 1) {
    const at = random.between(0, body.length - 1);
    body[at] = (body[at] ?? 0) ^ (1 << random.between(0, 7));
  }
  return plainShot("bits flipped", "either", token, body, { resource });
};

const spliced: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = Buffer.from(JSON.stringify(records));
  const [from, to] = [random.between(0, body.length), random.between(0, body.length)];
  const middle = random.pick([
    Buffer.alloc(0),
    randomBytes(random, random.between(1, 20)),
    body.subarray(Math.min(from, to), Math.max(from, to)),
    Buffer.from(random.pick(["[", "]", "{", "}", '"', ",", ":", "\\", "\0", "null", "-", "e9", "\n"])),
  ]);
  const spliced = Buffer.concat([body.subarray(0, from), middle, body.subarray(to)]);
  return plainShot("spliced", "either", token, spliced, { resource });
};

const noise: ShotMaker = (random, token) =>
  plainShot("noise", "either", token, randomBytes(random, random.between(0, 300)));

const deep: ShotMaker = (random, token) => {
  const depth = random.chance(0.01) ? 100_000 : random.between(17, 200);
  const [open, close] = random.pick([
    ["[", "]"],
    ['{"a":', "1}"],
    ['[{"a":', "null}]"],
  ] as const);
  const whole = `${open.repeat(depth)}${random.chance(0.5) ? close.repeat(depth) : ""}`;
  const { resource, records } = validBatch(random);
  const body = random.chance(0.5)
    ? whole
    : JSON.stringify(records).replace("}]", `,"note":${"[".repeat(depth)}${"]".repeat(depth)}}]`);
  return plainShot("deep nesting", "refused", token, body, { resource });
};

/** Puts a text as it is behind the first record's opening brace. */
function withMember(json: string, member: string): string {
  return json.replace("[{", `[{${member},`);
}

const hugeNumber: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const number = random.pick([
    "1e400",
    "-1e400",
    "1e-400",
    "1".repeat(random.between(310, 2_000)),
    "1e999999999999",
    `0.${"0".repeat(400)}1`,
    "1.7976931348623159e308",
  ]);
  return plainShot(
    "huge numbers",
    "refused",
    token,
    withMember(JSON.stringify(records), `"note":${number}`),
    {
      resource,
    },
  );
};

const duplicateName: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const member = random.pick([
    '"clientCode":"ACME"',
    '"propertyCode":"OTHER"',
    '"\\u0063lientCode":"X"',
    '"note":1,"note":1',
    '"note":{"a":1,"\\u0061":2}',
    '"":1,"":2',
    '"__proto__":{"x":1}',
    '"constructor":1',
    '"note":{"prototype":{}}',
    '"\\u005f_proto__":null',
  ]);
  return plainShot("names", "refused", token, withMember(JSON.stringify(records), member), { resource });
};

const badUtf8: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const marked = withMember(JSON.stringify(records), '"note":"@"');
  const at = marked.indexOf("@");
  const sequence = random.pick([
    [0x80],
    [0xbf, 0xbf],
    [0xc0, 0xaf],
    [0xc3],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xf0, 0x80, 0x80, 0xaf],
    [0xf4, 0x90, 0x80, 0x80],
    [0xfe],
    [0xff, 0xfe],
  ]);
  const body = Buffer.concat([
    Buffer.from(marked.slice(0, at)),
    Buffer.from(sequence),
    Buffer.from(marked.slice(at + 1)),
  ]);
  return plainShot("not UTF-8", "refused", token, body, { resource });
};

const otherEncoding: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const json = JSON.stringify(records);
  const body = random.pick([
    Buffer.from(`\ufeff${json}`),
    Buffer.from(json, "utf16le"),
    Buffer.from(`\ufeff${json}`, "utf16le"),
    Buffer.from(json, "utf16le").swap16(),
    Buffer.from(withMember(json, '"note":"\u00e9"'), "latin1"),
  ]);
  return plainShot("byte order marks and other encodings", "refused", token, body, { resource });
};

const badText: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const text = random.pick([
    "\\ud800",
    "\\udc00\\ud800",
    "a\\udfffb",
    "\\u0000",
    "\0",
    "\n",
    "\t",
    "\u001f",
    "\\x41",
    "\\u12",
    "\\",
  ]);
  const member = random.pick([`"note":"${text}"`, `"${text}":1`, `"note":[{"a":"${text}"}]`]);
  return plainShot(
    "surrogates, NUL and escapes",
    "refused",
    token,
    withMember(JSON.stringify(records), member),
    {
      resource,
    },
  );
};

const notABatch: ShotMaker = (random, token) => {
  const { records } = validBatch(random);
  const body = random.pick([
    "",
    " ",
    "[]",
    " [ ] ",
    "{}",
    "null",
    "0",
    '""',
    JSON.stringify(records[0]),
    `{"records":${JSON.stringify(records)}}`,
    `${JSON.stringify(records)}${JSON.stringify(records)}`,
    `${JSON.stringify(records)},`,
    "[null]",
    "[[]]",
    "[1]",
    `[${"{},".repeat(random.chance(0.02) ? 10_000 : 20)}{}]`,
  ]);
  return plainShot("no batch", "refused", token, body);
};

/** Bodies that are no JSON, or JSON that two readers would understand differently; with their shares. */
export const BROKEN_JSON: readonly (readonly [number, ShotMaker])[] = [
  [40, valid],
  [80, truncated],
  [120, bitFlipped],
  [100, spliced],
  [40, noise],
  [40, deep],
  [50, hugeNumber],
  [50, duplicateName],
  [50, badUtf8],
  [30, otherEncoding],
  [50, badText],
  [30, notABatch],
];
