import type { SeededRandom } from "../workload/seeded-random.ts";
import type { Arms, Shot } from "./shot.ts";

const TOKEN_PATH = "/api/oauth2/token";

/** What a change does to a request that would be served: nothing, spoil it, or nobody can say. */
type Effect = "keeps" | "breaks" | "unknown";

/** A request to an OAuth endpoint in its parts, as a change finds them. */
interface FormRequest {
  method: string;
  path: string;
  query: string;
  pairs: [string, string][];
  type: string;
  lines: string[];
  /** Instead of the pairs. */
  raw?: Buffer;
  chunked: boolean;
}

type Change = (request: FormRequest, random: SeededRandom, arms: Arms) => Effect;

const set = (request: FormRequest, name: string, value: string) => {
  request.pairs = request.pairs.map(([key, old]) => [key, key === name ? value : old]);
};
const drop = (request: FormRequest, name: string) => {
  request.pairs = request.pairs.filter(([key]) => key !== name);
};
const NAMES = ["grant_type", "client_id", "client_secret"] as const;

/** Every character as its escape, in one case or the other. */
const escaped = (text: string, random: SeededRandom) =>
  [...Buffer.from(text)].map((byte) => {
    const hex = byte.toString(16).padStart(2, "0");
    return `%${random.chance(0.5) ? hex : hex.toUpperCase()}`;
  });

const BROKEN_ESCAPES = ["%", "%z", "%0", "%E0%A4", "%ff", "%C0%AF", "%ED%A0%80", "%u0041", "%%41"];
const HOSTILE = [
  "' or 1=1 --",
  "\0",
  "\r\nX: y",
  "{}",
  "[]",
  "null",
  "*",
  "\u202e",
  "../../etc/passwd",
  "%00",
  " ",
  "a b",
  "__proto__",
  "constructor",
  "bhc_",
  "bhs_",
  "a".repeat(129),
  "a".repeat(5_000),
  "\u{1f600}",
  "\ufeff",
];

/** Of the form's grammar: names, values, escapes, separators. */
const FORM_CHANGES: readonly Change[] = [
  (request, random) => {
    const name = random.pick(NAMES);
    const [, value] = request.pairs.find(([key]) => key === name) ?? ["", ""];
    request.pairs.push([
      random.pick([name, escaped(name, random).join("")]),
      random.pick([value, "", "other"]),
    ]);
    return "breaks";
  },
  (request, random) => {
    drop(request, random.pick(NAMES));
    return "breaks";
  },
  (request, random) => {
    set(request, random.pick(NAMES), random.pick(["", ...HOSTILE.map(encodeURIComponent)]));
    return "breaks";
  },
  (request, random) => {
    const name = random.pick(NAMES);
    request.pairs = request.pairs.map(([key, value]) =>
      key === name ? [escaped(key, random).join(""), escaped(value, random).join("")] : [key, value],
    );
    return "keeps";
  },
  (request, random) => {
    request.pairs.push([random.pick(["x", "scope", "client_id"]), random.pick(BROKEN_ESCAPES)]);
    return "breaks";
  },
  (request, random) => {
    request.pairs.push([`x${random.between(0, 99)}`, encodeURIComponent(random.pick(HOSTILE)).slice(0, 500)]);
    return "keeps";
  },
  (request, random) => {
    request.pairs.push([random.pick(["__proto__", "constructor", "toString", "", "[]", "a[b]"]), "x"]);
    return "keeps";
  },
  (request, random) => {
    request.pairs.push([
      "scope",
      random.pick(["read", "read+reservations:write", "read%20groups:write", "", "+read++"]),
    ]);
    return "keeps";
  },
  (request, random) => {
    request.pairs.push([
      "scope",
      random.pick(["introspect", "admin", "read,groups:write", "READ", "%00", "a".repeat(2_000)]),
    ]);
    return "breaks";
  },
  (request, random) => {
    random.shuffle(request.pairs);
    return "keeps";
  },
  (request, random) => {
    const text = request.pairs.map(([name, value]) => `${name}=${value}`);
    const joined = random.pick([
      text.join("&&"),
      `&${text.join("&")}&`,
      `${text.join("&")}&=`,
      `${text.join("&")}&x`,
    ]);
    request.raw = Buffer.from(joined);
    return "keeps";
  },
  (request, random) => {
    const text = request.pairs.map(([name, value]) => `${name}=${value}`);
    request.raw = Buffer.from(
      random.pick([text.join(";"), text.join("&amp;"), text.join("\n"), `\ufeff${text.join("&")}`]),
    );
    return "breaks";
  },
  (request, random) => {
    const bytes = Buffer.from(request.pairs.map(([name, value]) => `${name}=${value}`).join("&"));
    for (let flips = random.between(1, 3); flips > 0; flips -= 1)
      bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
    request.raw = bytes;
    return "unknown";
  },
  (request, random) => {
    request.raw = Buffer.from(
      random.pick([
        "",
        "{}",
        JSON.stringify(Object.fromEntries(request.pairs)),
        "=",
        "&",
        "\0",
        "x".repeat(8_193),
        "%".repeat(99),
      ]),
    );
    return "breaks";
  },
  (request) => {
    request.raw = Buffer.concat([
      Buffer.from(request.pairs.map((pair) => pair.join("=")).join("&")),
      Buffer.from([0x26, 0xff]),
    ]);
    return "breaks";
  },
];

/** Credentials of nearly the right form, by header and by body. */
const CREDENTIAL_CHANGES: readonly Change[] = [
  (request, _random, { clientId, clientSecret }) => {
    drop(request, "client_id");
    drop(request, "client_secret");
    request.lines.push(`Authorization: Basic ${btoa(`${clientId}:${clientSecret}`)}`);
    return "keeps";
  },
  (request, random, { clientId, clientSecret }) => {
    drop(request, "client_id");
    drop(request, "client_secret");
    const basic = btoa(`${escaped(clientId, random).join("")}:${escaped(clientSecret, random).join("")}`);
    request.lines.push(`Authorization: ${random.pick(["Basic", "basic", "BASIC"])} ${basic}`);
    return "keeps";
  },
  (request, _random, { clientId, clientSecret }) => {
    request.lines.push(`Authorization: Basic ${btoa(`${clientId}:${clientSecret}`)}`);
    return "breaks";
  },
  (request, random, { clientId, clientSecret, token }) => {
    drop(request, "client_id");
    drop(request, "client_secret");
    const good = btoa(`${clientId}:${clientSecret}`);
    const bad = random.pick([
      "Basic",
      "Basic ",
      "Basic :",
      `Basic ${btoa("nocolon")}`,
      `Basic ${btoa(":")}`,
      `Basic ${btoa(`${clientId}:`)}`,
      `Basic ${btoa(`${clientId}:${clientSecret}:x`)}`,
      `Basic ${good}!`,
      `Basic ${good} ${good}`,
      `Basic=${good}`,
      `Bearer ${token}`,
      `Digest username="${clientId}"`,
      `Basic ${btoa(`${clientId}:%ff`)}`,
      `Basic ${btoa("\xff:\xff")}`,
      `Basic ${btoa(` ${clientId}:${clientSecret}`)}`,
      `Negotiate ${good}`,
      `Basic ${btoa(`${clientId}\0:${clientSecret}`)}`,
    ]);
    request.lines.push(`Authorization: ${bad}`);
    return "breaks";
  },
  (request, random, { clientSecret }) => {
    const wrong = [
      clientSecret.slice(0, -1),
      `${clientSecret}x`,
      clientSecret.toUpperCase(),
      `bhs_${random.next()}`,
    ];
    set(request, "client_secret", random.pick(wrong));
    return "breaks";
  },
  (request, random, { clientId }) => {
    set(
      request,
      "client_id",
      random.pick([clientId.slice(0, -1), `${clientId}x`, clientId.toUpperCase(), `bhc_${random.next()}`]),
    );
    return "breaks";
  },
  (request, random, { clientSecret, clientId, token }) => {
    const secrets = [
      `client_secret=${clientSecret}`,
      `client_id=${clientId}`,
      `token=${token}`,
      "grant_type=client_credentials",
    ];
    request.query = `?${random.pick(secrets)}`;
    return "breaks";
  },
];

/** The request around the form. */
const AROUND_CHANGES: readonly Change[] = [
  (request, random) => {
    request.type = random.pick([
      "text/plain",
      "application/json",
      "multipart/form-data; boundary=x",
      "",
      "*/*",
      "application/*",
    ]);
    return "breaks";
  },
  (request, random) => {
    const type = "application/x-www-form-urlencoded";
    request.type = random.pick([`${type};charset=UTF-8`, `${type} ; charset=utf-8`, type.toUpperCase()]);
    return "keeps";
  },
  (request, random) => {
    request.lines.push(`Content-Encoding: ${random.pick(["gzip", "deflate", "br, identity", "x"])}`);
    return "breaks";
  },
  (request, random) => {
    request.method = random.pick(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY", "PROPFIND"]);
    return "breaks";
  },
  (request) => {
    request.chunked = true;
    return "keeps";
  },
  (request, random) => {
    request.query = random.pick(["?", "?x=1", "?scope=read", "?%ff", "?__proto__=x"]);
    return "keeps";
  },
  (request, random) => {
    request.lines.push(
      random.pick([
        "Accept: text/html",
        "X-Forwarded-For: 127.0.0.1",
        "Cookie: a=b",
        "Origin: https://x.example",
        "Prefer: wait=5",
      ]),
    );
    return "keeps";
  },
];

/** Revocation and introspection of tokens that are none. */
const NEIGHBOURS: Change = (request, random, { foreignToken, writerToken }) => {
  request.path = random.pick(["/api/oauth2/revoke", "/api/oauth2/introspect"]);
  drop(request, "grant_type");
  const token = random.pick([
    "",
    "x",
    "a.b.c",
    foreignToken,
    writerToken.slice(0, -3),
    "\0",
    "a".repeat(6_000),
  ]);
  if (random.chance(0.9)) request.pairs.push(["token", encodeURIComponent(token)]);
  if (random.chance(0.3))
    request.pairs.push(["token_type_hint", random.pick(["access_token", "refresh_token", "x"])]);
  return "unknown";
};

function shoot(kind: string, changes: readonly Change[], random: SeededRandom, arms: Arms): Shot {
  const request: FormRequest = {
    method: "POST",
    path: TOKEN_PATH,
    query: "",
    lines: [],
    chunked: false,
    type: "application/x-www-form-urlencoded",
    pairs: [
      ["grant_type", "client_credentials"],
      ["client_id", arms.clientId],
      ["client_secret", arms.clientSecret],
    ],
  };
  const effects = changes.map((change) => change(request, random, arms));
  const body = request.raw ?? Buffer.from(request.pairs.map(([name, value]) => `${name}=${value}`).join("&"));
  const payload = request.chunked ? chunked(body, random) : body;
  const head = [
    `${request.method} ${request.path}${request.query} HTTP/1.1`,
    "Host: a",
    ...(request.type === "" ? [] : [`Content-Type: ${request.type}`]),
    request.chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${payload.length}`,
    ...request.lines,
  ];
  return {
    kind,
    expect: effects.every((effect) => effect === "keeps")
      ? "served"
      : effects.length === 1 && effects[0] === "breaks"
        ? "refused"
        : "either",
    bytes: Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), payload]),
    body,
    ...(request.method === "POST" ? { asks: { method: "POST", path: request.path } } : {}),
  };
}

function chunked(body: Buffer, random: SeededRandom): Buffer {
  const cut = random.between(0, body.length);
  const pieces = [body.subarray(0, cut), body.subarray(cut)].filter((piece) => piece.length > 0);
  const chunks = pieces.map((piece) =>
    Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]),
  );
  return Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")]);
}

const one =
  (kind: string, changes: readonly Change[]) =>
  (random: SeededRandom, arms: Arms): Shot =>
    shoot(kind, [random.pick(changes)], random, arms);

/** Requests to the token endpoint and its neighbours; with their shares. */
export const TOKEN_SHOTS = [
  [5, (random: SeededRandom, arms: Arms) => shoot("as it should be", [], random, arms)],
  [40, one("form", FORM_CHANGES)],
  [25, one("credentials", CREDENTIAL_CHANGES)],
  [15, one("around the form", AROUND_CHANGES)],
  [5, one("neighbours", [NEIGHBOURS])],
  [
    30,
    (random: SeededRandom, arms: Arms) => {
      const pools = [FORM_CHANGES, CREDENTIAL_CHANGES, AROUND_CHANGES, [NEIGHBOURS]];
      const changes = Array.from({ length: random.between(2, 4) }, () => random.pick(random.pick(pools)));
      // Two changes may undo each other, or spoil what each alone would keep.
      const shot = shoot("several at once", changes, random, arms);
      return { ...shot, expect: "either" as const };
    },
  ],
] as const;
