import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { UsageError } from "../platform/errors/operator-error.ts";
import { FileJournal } from "./cli/send.ts";

const directory = mkdtempSync(join(tmpdir(), "bellhop-journal-"));
after(() => rmSync(directory, { recursive: true }));

const OWNER = { url: "https://bellhop.example", clientId: "partner" };
const ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

describe("what is noted of a send", () => {
  test("is found by the next one, but for a line that a kill cut off", () => {
    const path = join(directory, "killed");
    const first = FileJournal.open(path, OWNER);
    assert.equal(first.resumed, 0);
    first.note("key-1", ID);
    first.note("key-2", ID);
    first.close(false);
    appendFileSync(path, `key-3 ${ID.slice(0, 20)}`);
    const second = FileJournal.open(path, OWNER);
    assert.equal(second.resumed, 2);
    assert.equal(second.find("key-1"), ID);
    assert.equal(second.find("key-3"), undefined);
    second.note("key-3", ID);
    second.close(false);
    const third = FileJournal.open(path, OWNER);
    assert.equal(third.find("key-3"), ID);
    third.close(true);
    assert.ok(!existsSync(path));
  });

  test("is nothing to another service or another client", () => {
    const path = join(directory, "owned");
    const owned = FileJournal.open(path, OWNER);
    owned.note("key-1", ID);
    owned.close(false);
    for (const other of [{ url: "https://other.example" }, { clientId: "other" }])
      assert.throws(() => FileJournal.open(path, { ...OWNER, ...other }), UsageError);
  });

  test("leaves nothing where nothing was accepted, and what a kill left of that is anybody's", () => {
    const path = join(directory, "never-began");
    FileJournal.open(path, OWNER).close(false);
    assert.ok(!existsSync(path));
    FileJournal.open(path, OWNER);
    assert.ok(existsSync(path));
    const other = FileJournal.open(path, { ...OWNER, clientId: "other" });
    other.note("key-1", ID);
    other.close(false);
    assert.equal(FileJournal.open(path, { ...OWNER, clientId: "other" }).resumed, 1);
  });

  test("is of no other file, however empty", () => {
    const path = join(directory, "foreign");
    for (const content of ["precious\n", '{"bellhop":"other"}']) {
      writeFileSync(path, content);
      assert.throws(() => FileJournal.open(path, OWNER), UsageError);
      assert.equal(readFileSync(path, "utf8"), content);
    }
  });
});
