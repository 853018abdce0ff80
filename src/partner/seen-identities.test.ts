import assert from "node:assert/strict";
import { test } from "node:test";
import { SeenIdentities } from "./seen-identities.ts";

test("an identity is known by the line that it was first seen on, of as many records as are remembered", () => {
  const seen = new SeenIdentities(5_000);
  for (let at = 0; at < 10_000; at += 1) assert.equal(seen.add(`R-${at}`, at + 2), undefined);
  for (let at = 0; at < 10_000; at += 1) assert.equal(seen.add(`R-${at}`, 20_000), at + 2);
});

test("the oldest records are forgotten, at the earliest after as many others", () => {
  const seen = new SeenIdentities(100);
  for (let at = 0; at < 201; at += 1) seen.add(`R-${at}`, at + 2);
  assert.equal(seen.add("R-100", 500), 102);
  assert.equal(seen.add("R-0", 501), undefined);
});
