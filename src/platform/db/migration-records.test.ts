import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAtLeast } from "./code-version.ts";
import { type Migration, type MigrationRecord, pendingMigrations } from "./migration-records.ts";

const migration = (name: string): Migration => ({
  name,
  checksum: `sum of ${name}`,
  sql: "",
  oldest: null,
  concurrentIndex: null,
});
const record = (name: string, oldest: string | null = null): MigrationRecord => ({
  name,
  oldest,
  checksum: `sum of ${name}`,
});
const pending = (ours: readonly string[], records: readonly MigrationRecord[], version = "0.3.0") =>
  pendingMigrations(ours.map(migration), records, version).map(({ name }) => name);

describe("the schema that a version finds", () => {
  test("gets the missing migrations in order", () => {
    assert.deepEqual(pending(["0021-a.sql", "0022-b.sql", "0023-c.sql"], [record("0021-a.sql")]), [
      "0022-b.sql",
      "0023-c.sql",
    ]);
  });
  test("is used unchanged if a newer version has only added to it", () => {
    assert.deepEqual(pending(["0021-a.sql"], [record("0021-a.sql"), record("0022-b.sql")]), []);
  });
  test("is refused by versions older than a newer migration permits", () => {
    const records = [record("0021-a.sql"), record("0030-z.sql", "0.3.0")];
    assert.deepEqual(pending(["0021-a.sql"], records), []);
    assert.deepEqual(pending(["0021-a.sql"], records, "0.10.0"), []);
    assert.deepEqual(pending(["0021-a.sql"], records, "0.3.0-dev"), []);
    assert.throws(() => pending(["0021-a.sql"], records, "0.2.9"), /start version 0\.3\.0 or newer/);
  });
  test("is refused where it was edited since", () => {
    const edited = { ...record("0021-a.sql"), checksum: "another" };
    assert.throws(() => pending(["0021-a.sql"], [edited]), /0021-a\.sql was edited/);
  });
  test("is refused if it belongs to another line of versions", () => {
    const records = [record("0021-a.sql"), record("0022-other.sql")];
    assert.throws(() => pending(["0021-a.sql", "0022-b.sql"], records), /another line of versions/);
  });
});

test("versions are compared by numbers, and a pre-release counts as its release", () => {
  for (const [version, least, is] of [
    ["0.2.0", "0.2.0", true],
    ["0.2.0-dev", "0.2.0", true],
    ["0.10.0", "0.9.9", true],
    ["1.0.0", "0.99.99", true],
    ["0.1.9", "0.2.0", false],
  ] as const)
    assert.equal(isAtLeast(version, least), is, `${version} ${least}`);
});
