import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NetworkError, readNetworks } from "../platform/http/networks.ts";
import { AddressRules } from "./address-rules.ts";
import { readEndpointUrl, WebhookInputError } from "./endpoint-address.ts";

/** Addresses that lead into somebody's own network or nowhere, and why each is in the list. */
const REFUSED: Readonly<Record<string, string>> = {
  "127.0.0.1": "loopback",
  "127.255.255.254": "loopback",
  "0.0.0.0": "this host",
  "10.0.0.1": "private",
  "172.16.0.1": "private",
  "172.31.255.255": "private",
  "192.168.1.1": "private",
  "100.64.0.1": "shared by carriers",
  "100.100.100.200": "metadata of a cloud",
  "169.254.0.1": "link-local",
  "169.254.169.254": "metadata of most clouds",
  "192.0.0.192": "metadata of a cloud",
  "192.0.2.1": "documentation",
  "192.31.196.1": "sink of reverse DNS",
  "192.52.193.1": "relay of multicast",
  "192.88.99.1": "relay of 6to4",
  "198.18.0.1": "benchmarks",
  "198.51.100.1": "documentation",
  "203.0.113.1": "documentation",
  "224.0.0.1": "multicast",
  "240.0.0.1": "reserved",
  "255.255.255.255": "broadcast",
  "::": "unspecified",
  "::1": "loopback",
  "::127.0.0.1": "IPv4-compatible",
  "::ffff:127.0.0.1": "IPv4-mapped",
  "::ffff:7f00:1": "IPv4-mapped, in hexadecimal",
  "::ffff:8.8.8.8": "IPv4-mapped, even of a public address",
  "::ffff:0:127.0.0.1": "IPv4-translated",
  "64:ff9b::7f00:1": "NAT64",
  "64:ff9b::8.8.8.8": "NAT64, even of a public address",
  "64:ff9b:1::1": "NAT64 of one's own",
  "100::1": "discard only",
  "2001::1": "Teredo",
  "2001:4:112::1": "sink of reverse DNS",
  "2001:db8::1": "documentation",
  "2002:7f00:1::": "6to4 of a loopback address",
  "2002:808:808::1": "6to4",
  "3fff::1": "documentation",
  "fc00::1": "unique local",
  "fd00:ec2::254": "metadata of a cloud",
  "fe80::1": "link-local",
  "fe80::1%eth0": "link-local with its zone",
  "fec0::1": "site-local",
  "ff02::1": "multicast",
  "5f00::1": "segment routing",
  "not an address": "no address",
  "8.8.8": "no address",
};

describe("addresses that messages may go to", () => {
  const rules = new AddressRules();

  for (const [address, why] of Object.entries(REFUSED)) {
    test(`${address} is refused: ${why}`, () => {
      assert.equal(rules.permits(address, "https"), false);
      assert.equal(rules.permits(address, "http"), false);
    });
  }

  test("public ones are permitted by https, and never by plain http", () => {
    for (const address of [
      "8.8.8.8",
      "93.184.216.34",
      "172.32.0.1",
      "100.128.0.1",
      "2606:4700::1111",
      "2a00:1450::1",
    ]) {
      assert.equal(rules.permits(address, "https"), true, address);
      assert.equal(rules.permits(address, "http"), false, address);
    }
  });

  test("a network that the operator opened is permitted by both, and nothing beside it", () => {
    const opened = new AddressRules(readNetworks("10.1.0.0/16, fd00:1::/48"));
    for (const address of ["10.1.0.1", "10.1.255.255", "fd00:1::1", "fd00:1:0:ffff::1"])
      for (const scheme of ["http", "https"] as const)
        assert.equal(opened.permits(address, scheme), true, address);
    for (const address of ["10.2.0.1", "10.0.255.255", "fd00:1:1::1", "::ffff:10.1.0.1", "127.0.0.1"])
      assert.equal(opened.permits(address, "https"), false, address);
    assert.equal(opened.permits("8.8.8.8", "http"), false);
    assert.equal(opened.permits("8.8.8.8", "https"), true);
  });

  test("a network that is none is refused by name", () => {
    for (const text of [
      "10.0.0.0",
      "10.0.0.0/33",
      "fd00::/129",
      "localhost/8",
      "10.0.0.0/8;1.1.1.1/32",
      "/8",
    ])
      assert.throws(() => readNetworks(text), NetworkError, text);
    assert.deepEqual(readNetworks(""), []);
  });
});

describe("addresses that an endpoint may have", () => {
  const rules = new AddressRules();
  const refused = [
    ["http://partner.example/hooks", "plain http"],
    ["ftp://partner.example/", "another scheme"],
    ["https://user:secret@partner.example/", "credentials"],
    ["https://partner.example/#part", "a fragment"],
    ["https://partner.example:25/", "the port of another service"],
    ["https://127.0.0.1/", "loopback"],
    ["https://localhost/", "loopback"],
    ["https://a.LocalHost.:8443/", "loopback"],
    ["https://0x7f.1/", "loopback, in hexadecimal"],
    ["https://2130706433/", "loopback, as one number"],
    ["https://0177.0.0.1/", "loopback, in octal"],
    ["https://[::1]/", "loopback"],
    ["https://[::ffff:127.0.0.1]/", "IPv4-mapped"],
    ["https://169.254.169.254/latest/meta-data", "metadata"],
    ["https://１２７.0.0.1/", "loopback, in full-width digits"],
    ["partner.example", "no scheme"],
    ["https://", "no host"],
    ["https:/partner.example", "one slash"],
    [`https://partner.example/${"x".repeat(2_048)}`, "too long"],
  ] as const;
  for (const [url, why] of refused) {
    test(`${url.slice(0, 60)} is refused: ${why}`, () => {
      assert.throws(() => readEndpointUrl(url, rules), WebhookInputError);
    });
  }

  test("what an operator could permit is refused with the name of the setting", () => {
    for (const url of ["http://127.0.0.1:8081/", "http://partner.example/", "https://10.0.0.1/"])
      assert.throws(() => readEndpointUrl(url, rules), /WEBHOOK_ALLOWED_NETWORKS/, url);
  });
  test("https on a usual port is accepted, and plain http in networks that the operator allowed", () => {
    for (const url of [
      "https://partner.example/hooks?a=1",
      "https://partner.example:8443/",
      "https://8.8.8.8/",
    ])
      assert.equal(readEndpointUrl(url, rules), url);
    const opened = new AddressRules(["10.0.0.0/8"]);
    assert.equal(readEndpointUrl("http://10.0.0.1:8080/", opened), "http://10.0.0.1:8080/");
    assert.equal(readEndpointUrl("http://partner.internal/", opened), "http://partner.internal/");
    assert.throws(() => readEndpointUrl("http://8.8.8.8/", opened), /url must use https\./);
  });

  test("if only loopback is allowed, as in a sandbox, plain http is allowed only for it", () => {
    const sandbox = new AddressRules(["127.0.0.0/8", "::1/128"]);
    for (const url of ["http://localhost:8081/", "http://127.0.0.1:8081/", "http://[::1]/"])
      assert.equal(readEndpointUrl(url, sandbox), url);
    assert.equal(readEndpointUrl("https://partner.example/", sandbox), "https://partner.example/");
    for (const url of ["http://example.com/", "http://8.8.8.8/", "http://10.0.0.1/"])
      assert.throws(() => readEndpointUrl(url, sandbox), /url must use https\./, url);
  });
});
