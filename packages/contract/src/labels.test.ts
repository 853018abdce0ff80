import assert from "node:assert/strict";
import test from "node:test";
import { canonicalLabel, KNOWN_LABELS } from "./labels.ts";

test("the known labels and what they mean are those of the contract", () => {
  const meaning = (resource: "reservations" | "groups") =>
    KNOWN_LABELS[resource].map(({ canonical, deducts }) => `${canonical} ${deducts}`);
  assert.deepEqual(meaning("reservations"), [
    "RESERVED true",
    "CONFIRMED true",
    "IN_HOUSE true",
    "CHECKED_IN true",
    "CHECKED_OUT true",
    "CANCELLED false",
    "NO_SHOW false",
    "WAITLISTED false",
  ]);
  assert.deepEqual(meaning("groups"), [
    "DEFINITE true",
    "TENTATIVE false",
    "PROSPECT false",
    "CANCELLED false",
    "LOST false",
  ]);
});

test("the usual spellings of a label mean the same", () => {
  for (const label of ["IN_HOUSE", "In House", "in-house", "INHOUSE", " in house "])
    assert.equal(canonicalLabel("reservations", label)?.canonical, "IN_HOUSE", label);
  for (const label of ["CANCELLED", "Canceled", "CXL"])
    assert.equal(canonicalLabel("reservations", label)?.canonical, "CANCELLED", label);
  assert.equal(canonicalLabel("reservations", "no-show")?.deducts, false);
  assert.equal(canonicalLabel("groups", "DEF")?.deducts, true);
});

test("an unknown label is never guessed", () => {
  for (const label of [
    "",
    "X",
    "CONFIRMED?",
    "DEFINITE",
    "toString",
    "__proto__",
    "CONFIRMED".repeat(20),
    "CHECKED",
    "６PM",
  ])
    assert.equal(canonicalLabel("reservations", label), undefined, label);
  assert.equal(canonicalLabel("groups", "CONFIRMED"), undefined);
});

test("no spelling means two things", () => {
  for (const labels of Object.values(KNOWN_LABELS)) {
    const spellings = labels.flatMap((label) =>
      label.spellings.map((spelling) => spelling.replaceAll(" ", "")),
    );
    assert.equal(new Set(spellings).size, spellings.length);
  }
});
