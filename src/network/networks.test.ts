import assert from "node:assert/strict";
import { test } from "node:test";
import { NetworkSet, plainAddress } from "./networks.ts";

test("an address is in a network of its own kind, also as a socket of IPv6 shows one of IPv4", () => {
  const networks = new NetworkSet(["10.1.0.0/16", "fd00:1::/48", "192.0.2.7/32"]);
  for (const address of ["10.1.255.255", "::ffff:10.1.0.1", "fd00:1::1", "192.0.2.7"])
    assert.ok(networks.has(address), address);
  for (const address of ["10.2.0.1", "fd00:2::1", "192.0.2.8", "", "localhost", "10.1.0.1%eth0", "010.1.0.1"])
    assert.ok(!networks.has(address), address);
  assert.ok(new NetworkSet([]).isEmpty);
  assert.ok(!networks.isEmpty);
});

test("only an address that stands for one of IPv4 is written as one", () => {
  assert.equal(plainAddress("::FFFF:10.0.0.1"), "10.0.0.1");
  assert.equal(plainAddress("fd00::1"), "fd00::1");
});
