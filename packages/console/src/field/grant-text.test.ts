import assert from "node:assert/strict";
import { test } from "node:test";
import { readGrants } from "./grant-text.ts";

test("grants are typed one a line, and a line that is none is told", () => {
  assert.deepEqual(readGrants(" ACME/LON01 \n\nCHAIN/*\nACME/LON01\nLON\n*/X\n/Y\nA/B/C"), {
    grants: [
      { clientCode: "ACME", propertyCode: "LON01" },
      { clientCode: "CHAIN", propertyCode: "*" },
      { clientCode: "A", propertyCode: "B/C" },
    ],
    wrong: ["LON", "*/X", "/Y"],
  });
});
