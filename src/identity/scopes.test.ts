import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseScopes } from "./permissions.ts";

describe("the scopes of a token", () => {
  const granted = ["reservations:write", "read", "introspect"];

  it("are all of the client's that a token can carry, when none is asked for", () => {
    assert.deepEqual(chooseScopes(undefined, granted), ["reservations:write", "read"]);
    assert.deepEqual(chooseScopes("  ", granted), ["reservations:write", "read"]);
  });

  it("are those asked for, once each, when the client has them all", () => {
    assert.deepEqual(chooseScopes("read read", granted), ["read"]);
    for (const asked of [
      "groups:write",
      "read groups:write",
      "introspect",
      "READ",
      "insight:read",
      "read\treservations:write",
    ]) {
      assert.equal(chooseScopes(asked, granted), undefined, asked);
    }
  });
});
