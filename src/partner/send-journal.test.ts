import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
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
    FileJournal.open(path, OWNER).close(false);
    for (const other of [{ url: "https://other.example" }, { clientId: "other" }])
      assert.throws(() => FileJournal.open(path, { ...OWNER, ...other }), UsageError);
  });
});
