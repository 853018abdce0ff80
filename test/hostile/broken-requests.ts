import { FIRE_LIMITS } from "./broken-encodings.ts";
import { type Framing, frame, type Shot, type ShotMaker, validBatch } from "./shot.ts";

/** A valid batch in a request that is wrong around it. */
function around(
  kind: string,
  framings: readonly (Framing & { readonly ends?: Shot["ends"] })[],
  change: (bytes: Buffer) => Buffer = (bytes) => bytes,
): ShotMaker {
  return (random, token) => {
    const { resource, records } = validBatch(random);
    const body = Buffer.from(JSON.stringify(records));
    const { ends, ...framing } = random.pick(framings);
    const bytes = frame(token, change(body), { resource, ...framing });
    return { kind, expect: "refused", body, bytes, ...(ends === undefined ? {} : { ends }) };
  };
}

const headers = around("headers that cannot be used", [
  { type: "Content-Type: text/plain" },
  { type: "Content-Type: application/json; charset=latin1" },
  { type: "Content-Type: application/x-www-form-urlencoded" },
  { type: "Content-Type:" },
  { type: "X-None: a" },
  { lines: ["Content-Encoding: deflate"] },
  { lines: ["Content-Encoding: gzip, gzip"] },
  { lines: ["X-Correlation-Id:"] },
  { lines: [`X-Correlation-Id: ${"x".repeat(129)}`] },
  { lines: ["X-Correlation-Id: caf\xe9"] },
  { lines: ["X-Correlation-Id: a", "X-Correlation-Id: b"] },
  { lines: [`Idempotency-Key: ${"k".repeat(256)}`] },
  { lines: ["Idempotency-Key: \x7f"], ends: "after-answer" },
  { lines: ["ReplyTo: javascript:alert(1)"] },
  { lines: ["ReplyTo: /relative"] },
  { resource: "nowhere" },
  { resource: "reservations/%00" },
  { resource: "%ff" },
  { resource: "../../../etc/passwd" },
]);

const framing = around("headers that are no HTTP", [
  { lines: ["Content-Length: 5"], ends: "after-answer" },
  { lines: ["Transfer-Encoding: chunked"], ends: "after-answer" },
  { lines: ["Host: b"], ends: "after-answer" },
  { lines: ["Authorization: Bearer x"], ends: "after-answer" },
  { lines: ["X: a\0b"], ends: "after-answer" },
  { lines: ["X: a\nY: b"], ends: "after-answer" },
  { lines: ["X: a\r\n folded"], ends: "after-answer" },
  { lines: [" X: a"], ends: "after-answer" },
  { lines: ["X Y: a"], ends: "after-answer" },
  { lines: ["no colon"], ends: "after-answer" },
  { lines: [`X: ${"x".repeat(20_000)}`], ends: "after-answer" },
  { length: "Content-Length: -1", ends: "after-answer" },
  { length: "Content-Length: +5", ends: "after-answer" },
  { length: "Content-Length: 0x10", ends: "after-answer" },
  { length: "Content-Length: 5, 5", ends: "after-answer" },
  { length: "Content-Length: 99999999999999999999", ends: "after-answer" },
  { length: "Transfer-Encoding: gzip, chunked", ends: "after-answer" },
  { length: "Transfer-Encoding: identity", ends: "after-answer" },
  { length: "Transfer-Encoding : chunked", ends: "after-answer" },
  { length: "Transfer-Encoding: chunked, chunked", ends: "after-answer" },
]);

/** Content-Length says more than comes: the client closes its side, and what came is no batch whatever it says. */
const lengthBeyond: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = Buffer.from(JSON.stringify(records));
  const length = `Content-Length: ${body.length + random.between(1, 5_000)}`;
  return {
    kind: "shorter than Content-Length",
    expect: "refused",
    body,
    bytes: frame(token, body, { resource, length }),
    ends: "before-answer",
  };
};

/** Content-Length says less than comes: the batch is cut, and its rest is read as a request, which it is not. */
const lengthShort: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = Buffer.from(JSON.stringify(records));
  const length = `Content-Length: ${random.between(0, body.length - 1)}`;
  return {
    kind: "longer than Content-Length",
    expect: "refused",
    body,
    bytes: frame(token, body, { resource, length }),
    ends: "after-answer",
  };
};

const chunks: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const body = Buffer.from(JSON.stringify(records));
  const size = body.length.toString(16);
  const text = body.toString("latin1");
  const payload = random.pick([
    `${size}\r\n${text}\r\n`,
    `${size}\r\n${text}`,
    `${(body.length + 1).toString(16)}\r\n${text}\r\n0\r\n\r\n`,
    `${(body.length - 1).toString(16)}\r\n${text}\r\n0\r\n\r\n`,
    `zz\r\n${text}\r\n0\r\n\r\n`,
    `-${size}\r\n${text}\r\n0\r\n\r\n`,
    `fffffffffffffffff\r\n${text}\r\n0\r\n\r\n`,
    `${size};${"e".repeat(20_000)}\r\n${text}\r\n0\r\n\r\n`,
    `${size}\n${text}\n0\n\n`,
    "0\r\n\r\n",
  ]);
  return {
    kind: "chunks that lie",
    expect: "refused",
    body,
    bytes: frame(token, Buffer.from(payload, "latin1"), { resource, length: "Transfer-Encoding: chunked" }),
    ends: "before-answer",
  };
};

const wholeRequests: ShotMaker = (random, token) => {
  const text = random.pick([
    "GET / HTTP/0.9\r\n\r\n",
    "GET /\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /api/public/v1/groups HTTP/1.1\r\n\r\n",
    "POST /api/public/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    "POST /api/public/v1/groups HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer forged\r\nContent-Length: 0\r\n\r\n",
    "DELETE /api/public/v1/groups HTTP/1.1\r\nHost: a\r\n\r\n",
    "CONNECT other:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    `OPTIONS * HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    `GET /${"a".repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "\r\n\r\n\0",
    `${"x".repeat(random.between(1, 500))}\r\n\r\n`,
  ]);
  const body = Buffer.alloc(0);
  return {
    kind: "requests of another kind",
    expect: "refused",
    body,
    bytes: Buffer.from(text, "latin1"),
    ends: "before-answer",
  };
};

const tooLarge: ShotMaker = (random, token) => {
  const body = Buffer.alloc(FIRE_LIMITS.bodyBytesMax + random.between(1, 10_000), " ");
  return { kind: "too large", expect: "refused", body, bytes: frame(token, body) };
};

/** Requests that are wrong around their body; with their shares. Each closes its connection, so there are fewer. */
export const BROKEN_REQUESTS: readonly (readonly [number, ShotMaker])[] = [
  [60, headers],
  [25, framing],
  [10, lengthBeyond],
  [10, lengthShort],
  [20, chunks],
  [15, wholeRequests],
  [1, tooLarge],
];
