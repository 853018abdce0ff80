import assert from "node:assert/strict";
import { test } from "node:test";
import { addressFinding, zoneFindings } from "./installation-checks.ts";

test("nodes with other addresses than this environment are another installation, beside its own an error", () => {
  const judged = (nodes: number, ...others: string[]) => addressFinding(nodes, others);
  assert.equal(judged(3).severity, "ok");
  assert.equal(judged(0).severity, "ok");
  const all = judged(2, "a/1", "b/2");
  assert.equal(all.severity, "warning");
  assert.match(all.says, /^2 nodes have another BASE_URL or AUTH_URL than this environment: a\/1, b\/2\.$/);
  const some = judged(5, "a/1");
  assert.equal(some.severity, "error");
  assert.match(some.says, /^1 node has .*: a\/1, and 4 of 5 have the same\.$/);
  assert.match(judged(9, "a", "b", "c", "d", "e").says, /: a, b, c and 2 more, and 4 of 9/);
});

test("a server's time zone data is compared with this machine's, now and later", () => {
  const instants = ["2027-01-10T12:00:00Z", "2027-07-11T12:00:00Z"].map((text) => Date.parse(text) / 1000);
  const judged = (zone: string, minutes: readonly number[] | null) => {
    const [finding, ...more] = zoneFindings([{ zone, minutes }], instants);
    assert.deepEqual(more, []);
    return finding;
  };
  assert.equal(judged("Europe/Paris", [60, 120])?.severity, "ok");
  assert.equal(judged("Asia/Kolkata", [330, 330])?.severity, "ok");
  // A server that does not know of summer time there.
  const apart = judged("Europe/Paris", [60, 60]);
  assert.equal(apart?.severity, "warning");
  assert.match(apart?.says ?? "", /differ for 1 time zone of properties: Europe\/Paris \(2027-07-11\)\.$/);
  const unknown = judged("America/Coyhaique", null);
  assert.equal(unknown?.severity, "error");
  assert.match(unknown?.says ?? "", /does not know 1 time zone of properties: America\/Coyhaique\.$/);
});
