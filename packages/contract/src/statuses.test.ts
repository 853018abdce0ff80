import assert from "node:assert/strict";
import test from "node:test";
import { KNOWN_STATUSES, knownStatus } from "./statuses.ts";

test("the known statuses have the contract's meanings", () => {
  const meaning = (resource: "reservations" | "groups") =>
    KNOWN_STATUSES[resource].map(({ canonical, deducts }) => `${canonical} ${deducts}`);
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

test("the usual spellings of a status mean the same", () => {
  for (const status of ["IN_HOUSE", "In House", "in-house", "INHOUSE", " in house "])
    assert.equal(knownStatus("reservations", status)?.canonical, "IN_HOUSE", status);
  for (const status of ["CANCELLED", "Canceled", "CXL"])
    assert.equal(knownStatus("reservations", status)?.canonical, "CANCELLED", status);
  assert.equal(knownStatus("reservations", "no-show")?.deducts, false);
  assert.equal(knownStatus("groups", "DEF")?.deducts, true);
});

test("an unknown status is never guessed", () => {
  for (const status of [
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
    assert.equal(knownStatus("reservations", status), undefined, status);
  assert.equal(knownStatus("groups", "CONFIRMED"), undefined);
});

test("no spelling means two things", () => {
  for (const statuses of Object.values(KNOWN_STATUSES)) {
    const spellings = statuses.flatMap((status) =>
      status.spellings.map((spelling) => spelling.replaceAll(" ", "")),
    );
    assert.equal(new Set(spellings).size, spellings.length);
  }
});
