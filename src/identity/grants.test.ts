import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { arrangeGrants, grantsInclude, parseGrant } from "./grants.ts";

describe("grants", () => {
  it("are written CLIENTCODE/PROPERTYCODE or CLIENTCODE/*, divided at the first slash", () => {
    assert.deepEqual(parseGrant("ACME/H1"), { clientCode: "ACME", propertyCode: "H1" });
    assert.deepEqual(parseGrant("ACME/*"), { clientCode: "ACME", propertyCode: "*" });
    assert.deepEqual(parseGrant("ACME/H/1"), { clientCode: "ACME", propertyCode: "H/1" });
    for (const wrong of [
      "",
      "ACME",
      "ACME/",
      "/H1",
      "*/*",
      "*",
      "A\u0000/H1",
      `${"x".repeat(129)}/H1`,
      "A/\ud800",
    ]) {
      assert.equal(typeof parseGrant(wrong), "string", JSON.stringify(wrong));
    }
  });

  it("cover exactly what they name", () => {
    const grants = arrangeGrants([
      { clientCode: "ACME", propertyCode: "H1" },
      { clientCode: "BETA", propertyCode: "*" },
    ]);
    assert.equal(grantsInclude(grants, "ACME", "H1"), true);
    assert.equal(grantsInclude(grants, "BETA", "whatever"), true);
    for (const [client, property] of [
      ["ACME", "H2"],
      ["acme", "H1"],
      ["ACME", "*"],
      ["*", "*"],
      ["__proto__", "H1"],
    ] as const) {
      assert.equal(grantsInclude(grants, client, property), false);
    }
  });
});
