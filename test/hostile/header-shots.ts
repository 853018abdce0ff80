import { reservationRecord } from "../support/records.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import { framingOf } from "./framing-of.ts";
import { type Arms, GUEST, type Shot } from "./shot.ts";

const PUSH = "/api/public/v1/reservations";
const ASKS = { method: "POST", path: PUSH } as const;
/** No answer may ever carry this: it is the id of a request that stands within another one's body. */
export const SMUGGLED = "smuggled";

interface Message {
  readonly start?: string;
  readonly lines: readonly string[];
  readonly payload: string;
}

/** Latin-1 text as its bytes, so that any byte can stand anywhere. */
const bytesOf = (text: string) => Buffer.from(text, "latin1");

function head(token: string, start: string, lines: readonly string[]): string {
  return `${[start, "Host: a", `Authorization: Bearer ${token}`, "Content-Type: application/json", ...lines].join("\r\n")}\r\n\r\n`;
}

function batch(random: SeededRandom): string {
  const record = reservationRecord({
    reservationId: `R-${random.between(1, 5_000)}`,
    profiles: [{ id: "1", name: GUEST, profileType: "Guest" }],
  });
  return JSON.stringify([record]);
}

/** Recognised by its answer: its body is refused after its headers were read, and nothing is stored. */
function canaryOf(token: string, id: string): string {
  return `${head(token, `POST ${PUSH} HTTP/1.1`, [`X-Correlation-Id: ${id}`, "Content-Length: 1"])}[`;
}

function smuggledOf(token: string, random: SeededRandom): string {
  const body = batch(random);
  return `${head(token, `POST ${PUSH} HTTP/1.1`, [`X-Correlation-Id: ${SMUGGLED}`, `Content-Length: ${body.length}`])}${body}`;
}

function shotOf(
  kind: string,
  expect: Shot["expect"],
  message: Message,
  random: SeededRandom,
  { token }: Arms,
): Shot {
  const canary = `canary-${random.next()}`;
  const request = head(token, message.start ?? `POST ${PUSH} HTTP/1.1`, message.lines) + message.payload;
  const bytes = bytesOf(request + canaryOf(token, canary));
  return { kind, expect, bytes, body: bytesOf(message.payload), asks: ASKS, canary };
}

const DECORATIONS = [
  "Accept: text/plain",
  "Accept: */*;q=0",
  "Accept:",
  "Accept-Encoding: gzip;q=0",
  "Prefer: handling=lenient",
  'Prefer: x="a,b"',
  "TE: trailers",
  "Connection: keep-alive, X-Odd",
  "X-Odd: \xe9\xff",
  "x-odd:\t tab \t",
  "X-Empty:",
  "Cookie: a=b",
  "Via: 1.1 x",
  "Transfer_Encoding: chunked",
  "Content_Length: 3",
  "X-Content-Length: 0",
  "Expect: 100-continue",
  "Expect: x",
  "Max-Forwards: 0",
  "X-Forwarded-For: 127.0.0.1",
  "Forwarded: for=x",
  "Range: bytes=0-0",
  "If-Match: *",
  'If-None-Match: "x"',
  "Trailer: Content-Length",
  "Cache-Control: only-if-cached",
  "!#$%&'*+-.^_`|~: a",
  "0: 0",
  "Keep-Alive: timeout=0",
  "Date: never",
  "Server: x",
  "__proto__: x",
  "constructor: x",
  "toString: x",
  "X-Correlation-Id: c",
  "From: \"'<script>",
  "Proxy-Authorization: Basic eDp5",
  "Host2: b",
];

/** Rare and legal: is done, and what stands behind it has its own answer. */
function legal(random: SeededRandom, arms: Arms): Shot {
  const body = batch(random);
  const lines = Array.from({ length: random.between(0, 6) }, () => random.pick(DECORATIONS));
  const distinct = lines.filter(
    (line, at) => lines.findIndex((other) => nameOf(other) === nameOf(line)) === at,
  );
  if (random.chance(0.5)) {
    const length = `${random.pick(["", "0", "000"])}${body.length}`;
    distinct.push(
      `${random.pick(["Content-Length", "content-length", "CONTENT-LENGTH"])}:${random.pick(["", " ", "\t "])}${length}${random.pick(["", " "])}`,
    );
    return shotOf("legal", "served", { lines: random.shuffle(distinct), payload: body }, random, arms);
  }
  distinct.push(
    random.pick(["Transfer-Encoding: chunked", "transfer-encoding:CHUNKED", "Transfer-Encoding: \tChunked"]),
  );
  return shotOf(
    "legal, in chunks",
    "served",
    { lines: random.shuffle(distinct), payload: inChunks(body, random) },
    random,
    arms,
  );
}

const nameOf = (line: string) => line.slice(0, line.indexOf(":")).toLowerCase();

function inChunks(body: string, random: SeededRandom): string {
  let text = "";
  for (let at = 0; at < body.length; ) {
    const size = random.between(1, body.length - at);
    const extension = random.pick(["", "", ";a", ";a=b", ';a="b c"', ";a=b;c=d"]);
    text += `${random.pick(["", "0", "0000"])}${size.toString(16)}${extension}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}${random.pick(["0", "000"])}\r\n${random.pick(["", "", "X-Trailer: a\r\n", "Authorization: Bearer x\r\n"])}\r\n`;
}

const CODINGS = [
  "chunked",
  "chunked",
  "Chunked",
  "identity",
  "xchunked",
  "chunked, identity",
  "gzip, chunked",
  "chunked, chunked",
  ",chunked",
  "chunked,",
  "",
  "chunked;q=1",
  '"chunked"',
  "chunked\x0b",
  "\x0bchunked",
  "chunked \t",
  "\0chunked",
  "chun\xadked",
  "deflate",
  "chunked\x85",
  "trailers",
];
const LENGTH_CHANGES: readonly ((digits: string) => string)[] = [
  (digits: string) => digits,
  (digits: string) => `+${digits}`,
  (digits: string) => `-${digits}`,
  (digits: string) => `0x${digits}`,
  (digits: string) => `${digits},${digits}`,
  (digits: string) => `${digits}.0`,
  (digits: string) => `${digits} 0`,
  () => "",
  (digits: string) => `00${digits}`,
  (digits: string) => `${digits}\x0b`,
  (digits: string) => `"${digits}"`,
  (digits: string) => `${digits}e0`,
  (digits: string) => `${digits}_0`,
  () => "18446744073709551616",
  (digits: string) => `\xa0${digits}`,
  (digits: string) => `${digits};`,
];
const COLONS = [":", ":", ": ", ": ", ":\t", " :", "\t:", ":  ", "\0:", "\x0b:"];

/**
 * Lengths and codings in one to three lines of every spelling. The payload is made for the one reading that RFC 9112
 * allows, if it allows one, and holds a whole request where a reader of another mind would look for the next.
 */
function lengthGames(random: SeededRandom, arms: Arms): Shot {
  const inner = smuggledOf(arms.token, random);
  const decoy = `0\r\n\r\n${inner}`;
  const lengthOf = (bytes: number) =>
    random.chance(0.5) ? String(bytes) : random.pick(LENGTH_CHANGES)(String(bytes));
  const lines = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => {
    const colon = random.chance(0.7) ? ": " : random.pick(COLONS);
    return random.chance(0.5)
      ? `${random.pick(["Transfer-Encoding", "transfer-encoding", "Transfer-Encoding", "Transfer-encoding"])}${colon}${random.chance(0.5) ? "chunked" : random.pick(CODINGS)}`
      : `${random.pick(["Content-Length", "content-length"])}${colon}${lengthOf(decoy.length)}`;
  });
  const framing = framingOf(lines);
  const payload =
    framing === "chunked"
      ? `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`
      : framing === "none"
        ? ""
        : decoy;
  // What frames nothing is no JSON: 400 with the connection kept. What two readers frame differently ends it.
  const expect = framing === "refused" ? "refused" : "either";
  return shotOf(
    `lengths: ${typeof framing === "number" ? "a length" : framing}`,
    expect,
    { lines, payload },
    random,
    arms,
  );
}

const NOISE = [
  "\0",
  "\x01",
  "\x08",
  "\t",
  "\n",
  "\r",
  "\r\n",
  "\x0b",
  "\x0c",
  " ",
  "\x7f",
  "\x80",
  "\xa0",
  "\xff",
  ":",
  ",",
  ";",
  '"',
  "\\",
  "\n\n",
  "\r\r\n",
  "#",
  "%",
  "?",
  "/",
];

/** Bytes that change, go or come anywhere in the request line and the headers but in the length. */
function noise(random: SeededRandom, arms: Arms): Shot {
  const body = batch(random);
  const shot = shotOf(
    "noise",
    "either",
    { lines: ["X-Note: a b", `Content-Length: ${body.length}`], payload: body },
    random,
    arms,
  );
  let text = shot.bytes.toString("latin1");
  const end = text.indexOf("Content-Length");
  for (let changes = random.between(1, 3); changes > 0; changes -= 1) {
    const at = random.between(0, end - 8);
    text = text.slice(0, at) + random.pick(NOISE) + text.slice(at + random.pick([0, 1]));
  }
  const { asks: _asks, ...rest } = shot;
  return { ...rest, bytes: bytesOf(text) };
}

/** About as many bytes as headers may have, in few lines or in thousands. */
function sizes(random: SeededRandom, arms: Arms): Shot {
  const body = batch(random);
  const total = random.pick([
    random.between(10_000, 14_500),
    random.between(14_500, 17_500),
    random.between(17_500, 60_000),
  ]);
  const count = random.pick([1, 2, 50, 1_000, 3_000]);
  const each = Math.max(1, Math.floor(total / count) - 8);
  const lines = Array.from({ length: count }, (_, at) => `X${at}: ${"v".repeat(each)}`);
  const message = { lines: [...lines, `Content-Length: ${body.length}`], payload: body };
  return shotOf("sizes", "either", message, random, arms);
}

const TARGETS = [
  PUSH,
  PUSH,
  PUSH,
  "/",
  "*",
  "//",
  `/.${PUSH}`,
  `${PUSH}/`,
  `${PUSH}#x`,
  "/%6detrics",
  "/\\",
  "http://a",
  "http://a/x",
  "a:80",
  "?",
  "",
  `/${"a".repeat(9_000)}`,
  "/\xff",
  "/%zz",
  "/%00",
  "/api/public/v1/requests/%2e%2e",
];
const METHODS = [
  "POST",
  "GET",
  "PUT",
  "TRACE",
  "OPTIONS",
  "CONNECT",
  "PRI",
  "BREW",
  "post",
  "PO ST",
  "",
  "P\0ST",
  "PROPFIND",
  "SEARCH",
  "PATCH",
];
const VERSIONS = [
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.2",
  "HTTP/2.0",
  "HTTP/0.9",
  "http/1.1",
  "HTTP/1.1 ",
  "HTTP/11",
  "RTSP/1.0",
  "ICE/1.0",
  "HTTP/1.1\t",
  "",
];

function requestLines(random: SeededRandom, arms: Arms): Shot {
  const start = `${random.pick(METHODS)}${random.pick([" ", " ", " ", "  ", "\t", ""])}${random.pick(TARGETS)}${random.pick([" ", " ", "  "])}${random.chance(0.6) ? "HTTP/1.1" : random.pick(VERSIONS)}`;
  const { asks: _asks, ...shot } = shotOf(
    "request lines",
    "refused",
    { start, lines: ["Content-Length: 0"], payload: "" },
    random,
    arms,
  );
  return shot;
}

/** Another protocol is offered: the answer is HTTP/1.1's, it is the connection's last, and nothing behind it is read. */
function offers(random: SeededRandom, arms: Arms): Shot {
  const body = random.pick([batch(random), smuggledOf(arms.token, random)]);
  const lines = [
    `Upgrade: ${random.pick(["h2c", "websocket", "TLS/1.0", "HTTP/2.0, h2c", "", "x"])}`,
    random.pick([
      "Connection: Upgrade",
      "Connection: keep-alive, UPGRADE",
      "Connection: upgrade, HTTP2-Settings",
      "X: y",
    ]),
    `Content-Length: ${body.length}`,
  ];
  return shotOf(
    "offers of another protocol",
    "either",
    { lines: random.shuffle(lines), payload: body },
    random,
    arms,
  );
}

/** Requests whose bytes two readers could understand differently, and their legal neighbours; with their shares. */
export const HEADER_SHOTS = [
  [20, legal],
  [45, lengthGames],
  [25, noise],
  [3, sizes],
  [12, requestLines],
  [8, offers],
] as const;
