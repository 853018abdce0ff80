import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { groupEntries, piecesOf, sentenceOf } from "./audit-sentences.ts";

const SRC = new URL("../../../../src/", import.meta.url);

/** Every `what` that the service writes: literals, and those of changes to operators, webhooks and backfills. */
function writtenDeeds(): Set<string> {
  const deeds = new Set<string>();
  for (const name of readdirSync(SRC, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || name.endsWith(".test.ts")) continue;
    const text = readFileSync(new URL(name.replaceAll("\\", "/"), SRC), "utf8");
    if (!text.includes("udit")) continue;
    for (const [, words = ""] of text.matchAll(/\bwhat:([^,;}(]*)[,;}]/g))
      for (const [, deed = ""] of words.matchAll(/"([a-z]+(?:[- ][a-z]+)*)"/g)) deeds.add(deed);
    for (const [, words = ""] of text.matchAll(/\b(?:what =|audit\(|change\()([^;]*)/g))
      for (const [, deed = ""] of words.matchAll(/"([a-z]+(?:-[a-z]+)+)"/g)) deeds.add(deed);
  }
  return deeds;
}

test("everything that the service writes into the audit has a sentence", () => {
  const deeds = writtenDeeds();
  for (const known of [
    "create-client",
    "close-backfill",
    "pause-webhook",
    "enable-operator",
    "citus distribute",
  ])
    assert.ok(deeds.has(known), `${known} is not found in the sources`);
  const without = [...deeds].filter((deed) => sentenceOf(deed) === deed.replaceAll("-", " "));
  assert.deepEqual(without, []);
});

test("a sentence is texts and placeholders in turn", () => {
  assert.deepEqual(piecesOf("was refused {count|a login|logins} at {address}"), [
    "was refused ",
    { name: "count", choice: ["a login", "logins"] },
    " at ",
    { name: "address", choice: undefined },
    "",
  ]);
});

test("groups consecutive entries with the same sentence, and only those", () => {
  const entry = (what: string, detail: object = {}, who = "console:anna") => ({
    who,
    role: "operator",
    what,
    clientId: null,
    detail: { clientCode: "ACME", propertyCode: "PARIS", ...detail },
  });
  const release = "release-quarantined-record";
  const entries = [
    entry(release, { index: 0 }),
    entry(release, { index: 1 }),
    entry(release, { index: 2, reason: "a clock" }),
    entry(release, { propertyCode: "ROME" }),
    entry(release, { propertyCode: "ROME" }, "console:berta"),
    entry("set-setting"),
    entry("set-setting"),
  ];
  assert.deepEqual(
    groupEntries(entries).map(({ length }) => length),
    [2, 1, 1, 1, 1, 1],
  );
});
