import assert from "node:assert/strict";
import { test } from "node:test";
import { NetworkSet, originOf, plainAddress } from "./networks.ts";

test("an address matches networks of its IP version; IPv4-mapped IPv6 counts as IPv4", () => {
  const networks = new NetworkSet(["10.1.0.0/16", "fd00:1::/48", "192.0.2.7/32"]);
  for (const address of ["10.1.255.255", "::ffff:10.1.0.1", "fd00:1::1", "192.0.2.7"])
    assert.ok(networks.has(address), address);
  for (const address of ["10.2.0.1", "fd00:2::1", "192.0.2.8", "", "localhost", "10.1.0.1%eth0", "010.1.0.1"])
    assert.ok(!networks.has(address), address);
  assert.ok(new NetworkSet([]).isEmpty);
  assert.ok(!networks.isEmpty);
});

test("only IPv4-mapped addresses are converted to IPv4", () => {
  assert.equal(plainAddress("::FFFF:10.0.0.1"), "10.0.0.1");
  assert.equal(plainAddress("::ffff:a00:1"), "10.0.0.1");
  assert.equal(plainAddress("fd00::1"), "fd00::1");
});

test("an address of IPv6 counts for its /64 and its /48, one of IPv4 for itself however it is written", () => {
  const site = "2001:db8:1::/48";
  for (const address of ["2001:db8:1:ab::1", "2001:0DB8:1:00ab:ffff:ffff:ffff:ffff"])
    assert.deepEqual(originOf(address), { subnet: "2001:db8:1:ab::/64", site, subnetNumber: 0xab });
  assert.deepEqual(originOf("::1"), { subnet: "0:0:0:0::/64", site: "0:0:0::/48", subnetNumber: 0 });
  for (const address of ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"])
    assert.deepEqual(originOf(address), { subnet: "192.0.2.7", site: "192.0.2.7", subnetNumber: 0 });
  assert.deepEqual(originOf(""), { subnet: "", site: "", subnetNumber: 0 });
});
