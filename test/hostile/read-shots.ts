import type { SeededRandom } from "../workload/seeded-random.ts";
import { type Arms, PROPERTIES, type Shot } from "./shot.ts";

const V1 = "/api/public/v1";
const RESOURCES = ["inventories", "reservations", "groups"] as const;
const KEYS = { inventories: "occupancyDate", reservations: "reservationId", groups: "groupCode" } as const;

type Pairs = [string, string][];

interface Question {
  /** As docs/openapi.json names it. */
  readonly route: string;
  path: string;
  pairs: Pairs;
  expect: Shot["expect"];
}

const HOSTILE = [
  "",
  "'",
  "' or 1=1 --",
  "\\",
  "%",
  "_",
  "*",
  "null",
  "NaN",
  "0",
  "-1",
  "1e3",
  "99999999999999999999",
  "\0",
  "\r\nX: y",
  "\u2028",
  "\ufeff",
  "\ud83d\ude00".repeat(64),
  "a".repeat(129),
  "x".repeat(4_000),
  "$1",
  "{}",
  "[]",
  "__proto__",
  "constructor",
  "../..",
  "<script>",
  "true",
  "2026-02-30",
  "2026-13-01",
  "0000-00-00",
  "9999-12-31",
  "2026-01-01T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "now()",
  "infinity",
  "epoch",
];

const VALUES: Readonly<Record<string, readonly string[]>> = {
  clientCode: ["ACME"],
  propertyCode: PROPERTIES,
  reservationId: ["R-1", "R-2", "R-none"],
  groupCode: ["G-1", "G-none"],
  occupancyDate: ["2026-03-10", "2031-01-01"],
  status: ["RESERVED", "CANCELLED", "x"],
  from: ["2026-01-01", "2026-03-01"],
  to: ["2026-12-31", "2027-01-01"],
  modifiedSince: ["2026-01-01T00:00:00Z", "2026-03-01T10:00:00.123456Z"],
  asOf: ["2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"],
  resource: RESOURCES,
  outcome: ["applied", "stale", "duplicate", "quarantined"],
  limit: ["1", "2", "100", "1000"],
};

const pairsOf = (random: SeededRandom, names: readonly string[]): Pairs =>
  names.map((name) => [name, random.pick(VALUES[name] ?? ["x"])]);

const some = (random: SeededRandom, names: readonly string[]) => names.filter(() => random.chance(0.3));

/** A question that is answered 200, with parameters that fit each other. */
function goodQuestion(random: SeededRandom, arms: Arms): Question {
  const resource = random.pick(RESOURCES);
  const kind = random.pick(["list", "list", "history", "requests", "request"] as const);
  switch (kind) {
    case "list": {
      const status = resource === "inventories" ? [] : ["status"];
      const names = [
        "clientCode",
        "propertyCode",
        ...some(random, [KEYS[resource], "from", "to", "modifiedSince", "asOf", "limit", ...status]),
      ];
      return {
        route: `${V1}/${resource}`,
        path: `${V1}/${resource}`,
        pairs: pairsOf(random, names),
        expect: "served",
      };
    }
    case "history": {
      const path = `${V1}/${resource}/history`;
      const names = ["clientCode", "propertyCode", KEYS[resource], ...some(random, ["limit"])];
      return { route: path, path, pairs: pairsOf(random, names), expect: "served" };
    }
    case "requests": {
      const codes = random.chance(0.3) ? ["clientCode", "propertyCode"] : [];
      const pairs = pairsOf(random, [...codes, ...some(random, ["resource", "outcome", "limit"])]);
      return { route: `${V1}/requests`, path: `${V1}/requests`, pairs, expect: "served" };
    }
    case "request": {
      const path = `${V1}/requests/${arms.requestId}`;
      return {
        route: `${V1}/requests/{requestId}`,
        path,
        pairs: pairsOf(random, some(random, ["outcome", "limit"])),
        expect: "served",
      };
    }
  }
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed());

/** The question's address; `spell` may write a name or a value otherwise than it must. */
function addressOf({ path, pairs }: Question, spell: (text: string) => string = encode): string {
  return pairs.length === 0
    ? path
    : `${path}?${pairs.map(([name, value]) => `${encode(name)}=${spell(value)}`).join("&")}`;
}

function shot(
  kind: string,
  question: Question,
  address: string,
  token: string,
  lines: readonly string[] = [],
): Shot {
  const head = [`GET ${address} HTTP/1.1`, "Host: a", `Authorization: Bearer ${token}`, ...lines];
  const bytes = Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1");
  return {
    kind,
    expect: question.expect,
    bytes,
    body: Buffer.alloc(0),
    asks: { method: "GET", path: question.route },
  };
}

function good(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  const lines = random.chance(0.3)
    ? [
        random.pick([
          "Prefer: wait=0",
          "Prefer: wait=x",
          "Accept: text/csv",
          "Range: bytes=0-5",
          'If-None-Match: "x"',
        ]),
      ]
    : [];
  return shot("good", question, addressOf(question), arms.token, lines);
}

function values(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  question.expect = "either";
  const names = Object.keys(VALUES);
  const at = random.between(0, question.pairs.length);
  question.pairs[at] = [
    question.pairs[at]?.[0] ?? random.pick(names),
    random.pick([...HOSTILE, random.pick(VALUES[random.pick(names)] ?? [])]),
  ];
  return shot("values", question, addressOf(question), arms.token);
}

function names(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  question.expect = "refused";
  if (question.pairs.length > 0 && random.chance(0.5)) question.pairs.push(random.pick(question.pairs));
  else
    question.pairs.push([
      random.pick([
        "x",
        "__proto__",
        "constructor",
        "clientcode",
        "LIMIT",
        "limit[]",
        "access_token",
        " limit",
      ]),
      "1",
    ]);
  return shot("names", question, addressOf(question), arms.token);
}

function spellings(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  question.expect = "either";
  const broken = random.pick([
    "%",
    "%z",
    "%E0%A4",
    "%ff",
    "%C0%AF",
    "%ED%A0%80",
    "+",
    "%2B",
    "%00",
    "&&",
    "=",
    "%26",
    ";",
    "?",
    "%u0041",
    "\xff",
  ]);
  const address = random.chance(0.5)
    ? addressOf(question, (text) => (random.chance(0.4) ? broken : encode(text)))
    : `${addressOf(question)}${question.pairs.length === 0 ? "?" : "&"}${broken}`;
  return shot("spellings", question, address, arms.token);
}

/** A position as an owner of the source would write it, who has not the key that encrypts it. */
function forgedCursor(random: SeededRandom, arms: Arms): string {
  const part = () =>
    random.pick([
      "R-1",
      "2026-03-10",
      "2026-01-01T00:00:00.000000Z",
      arms.requestId,
      arms.foreignRequestId,
      "' or true --",
      "\u{10ffff}",
      "",
      0,
      -1,
      1.5,
      2 ** 31,
      2 ** 53,
      null,
      true,
      [],
      {},
      "a\0",
      "\ud800",
      "x".repeat(500),
    ]);
  const position = Array.from({ length: random.between(0, 4) }, part);
  const cursorOf = (text: string) => `${"A".repeat(16)}${text}${"A".repeat(22)}`;
  const text = Buffer.from(JSON.stringify(position)).toString("base64url");
  return random.chance(0.8) ? cursorOf(text) : text;
}

function cursors(random: SeededRandom, arms: Arms): Shot {
  const page = random.pick(arms.pages);
  const [path = "", query = ""] = page.address.split("?");
  const question: Question = random.chance(0.5)
    ? { route: path, path, pairs: [...new URLSearchParams(query)], expect: "either" }
    : { ...goodQuestion(random, arms), expect: "either" };
  const given = page.cursor;
  const at = random.between(0, given.length - 1);
  const cursor = random.pick([
    given,
    given.slice(0, at) + random.pick(["A", "_", "-", "=", "%", "\0"]) + given.slice(at + 1),
    given.slice(0, at),
    `${given}A`,
    forgedCursor(random, arms),
    forgedCursor(random, arms),
    Buffer.from(random.pick(["[]", "{}", "null", '"x"', "[[[]]]", "\0", '{"__proto__":1}'])).toString(
      "base64url",
    ),
    random.pick(HOSTILE),
  ]);
  question.pairs.push(["cursor", cursor]);
  return shot("cursors", question, addressOf(question), arms.token);
}

/** Of others, by their own token or by this client's. */
function foreign(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  question.expect = "refused";
  if (question.route.endsWith("{requestId}")) question.path = `${V1}/requests/${arms.foreignRequestId}`;
  else {
    question.pairs = question.pairs.filter(([name]) => name !== "clientCode" && name !== "propertyCode");
    question.pairs.push(
      ["clientCode", random.pick(["CHAIN", "ACME", "NOBODY"])],
      ["propertyCode", random.pick(["ZRH01", "NOWHERE"])],
    );
  }
  return shot("foreign", question, addressOf(question), arms.token);
}

function tokens(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  question.expect = "refused";
  const { token } = arms;
  const at = random.between(0, token.length - 1);
  const bad = random.pick([
    arms.writerToken,
    token.slice(0, at),
    `${token}A`,
    `${token}=`,
    token.replaceAll(".", ""),
    `${token}.${token}`,
    "x",
    "a.b.c",
    "\xff",
    token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1),
  ]);
  return shot("tokens", question, addressOf(question), bad);
}

function addresses(random: SeededRandom, arms: Arms): Shot {
  const question = goodQuestion(random, arms);
  question.expect = "refused";
  const { path } = question;
  question.path = random.pick([
    `${path}/`,
    `/${path}`,
    `${path}%00`,
    `${path}%2f..`,
    path.toUpperCase(),
    `${path};a=b`,
    `${path}/x/y`,
    `${path}.json`,
    path.replace("v1", "v2"),
    path.replace("v1", "%76%31"),
  ]);
  return shot("addresses", question, addressOf(question), arms.token);
}

/** Questions to the reading endpoints; with their shares. */
export const READ_SHOTS = [
  [15, good],
  [30, values],
  [10, names],
  [15, spellings],
  [30, cursors],
  [10, foreign],
  [8, tokens],
  [8, addresses],
] as const;
