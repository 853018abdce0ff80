import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { clientAddressReader } from "./client-address.ts";

function request(remoteAddress: string, ...forwarded: string[]): IncomingMessage {
  const headersDistinct = forwarded.length === 0 ? {} : { "x-forwarded-for": forwarded };
  return { socket: { remoteAddress }, headersDistinct } as unknown as IncomingMessage;
}

const PROXIES = ["10.0.0.0/8", "fd00:1::/48"];

test("without trusted proxies the connection's address counts, and headers are ignored", () => {
  const read = clientAddressReader([]);
  assert.equal(read(request("203.0.113.9", "198.51.100.1")), "203.0.113.9");
  assert.equal(read(request("::ffff:203.0.113.9")), "203.0.113.9");
});

test("a header from an untrusted address is ignored", () => {
  assert.equal(clientAddressReader(PROXIES)(request("203.0.113.9", "198.51.100.1")), "203.0.113.9");
});

const CASES: readonly (readonly [what: string, forwarded: string[], found: string])[] = [
  ["the one address that a proxy wrote", ["198.51.100.1"], "198.51.100.1"],
  [
    "the last one that is none of a proxy's, for what is before it the client wrote",
    ["1.1.1.1, 198.51.100.1"],
    "198.51.100.1",
  ],
  ["over several trusted proxies", ["1.1.1.1, 198.51.100.1, 10.2.0.1,10.3.0.1"], "198.51.100.1"],
  [
    "over several headers, the last of them added last",
    ["1.1.1.1", "198.51.100.1, 10.2.0.1"],
    "198.51.100.1",
  ],
  ["with a port", ["198.51.100.1:4711"], "198.51.100.1"],
  ["of IPv6, in brackets with a port or plain", ["[2001:db8::1]:4711, fd00:1::5"], "2001:db8::1"],
  ["of IPv4 as a socket of IPv6 shows it", ["::ffff:198.51.100.1"], "198.51.100.1"],
  ["the proxy's own where it wrote none", [], "10.0.0.1"],
  ["the proxy's own where it wrote what is no address", ["unknown"], "10.0.0.1"],
  ["the last known where a list has a hole", ["198.51.100.1, , 10.2.0.1"], "10.2.0.1"],
  ["the last known where one has a zone", ["fe80::1%eth0"], "10.0.0.1"],
  ["that of a client within the proxies' network", ["10.9.9.9"], "10.9.9.9"],
];

for (const [what, forwarded, found] of CASES)
  test(`behind a trusted proxy: the address ${what}`, () => {
    assert.equal(clientAddressReader(PROXIES)(request("::ffff:10.0.0.1", ...forwarded)), found);
  });

test("only a bounded number of entries is read from a long header", () => {
  const hops = ["198.51.100.1", ...Array.from({ length: 500 }, () => "10.2.0.1")].join(",");
  assert.equal(clientAddressReader(PROXIES)(request("10.0.0.1", hops)), "10.2.0.1");
});
