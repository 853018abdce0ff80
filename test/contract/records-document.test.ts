import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { DOCUMENTED_LIMITS, generatedSections, writeGenerated } from "../support/records-document.ts";

const document = readFileSync(new URL("../../docs/records.md", import.meta.url), "utf8");

test("docs/records.md lists the fields, codes and statuses of the code", () => {
  for (const name of Object.keys(generatedSections()))
    assert.ok(document.includes(`<!-- generated: ${name} -->`), name);
  assert.equal(document, writeGenerated(document), "not up to date: run npm run generate -- docs");
});

test("docs/records.md names the limits of the code", () => {
  const { textCharactersMax, codeCharactersMax, itemsMax, decimalDigitsMax } = DOCUMENTED_LIMITS;
  for (const limit of [textCharactersMax, codeCharactersMax, itemsMax, decimalDigitsMax]) {
    assert.ok(document.includes(limit.toLocaleString("en-US")), String(limit));
  }
});
