import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseScopes } from "./scopes.ts";

describe("the scopes of a token", () => {
  const granted = ["reservations:write", "read", "introspect"];

  it("default to all of the client's that a token can carry", () => {
    assert.deepEqual(chooseScopes(undefined, granted), ["reservations:write", "read"]);
    assert.deepEqual(chooseScopes("  ", granted), ["reservations:write", "read"]);
  });

  it("are the requested ones, once each, if the client has them all", () => {
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
