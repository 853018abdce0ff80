import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { ARCHIVE_END, type ArchiveEntry, DamagedBackupError, entryBytes, readEntries } from "./archive.ts";

const entries: readonly ArchiveEntry[] = [
  { name: "backup.json", content: Buffer.from('{"format":1}') },
  { name: "bellhop.accept_log/000001.copy.zst", content: Buffer.alloc(1_500, 7) },
  { name: "empty", content: Buffer.alloc(0) },
  { name: "block", content: Buffer.alloc(512, 1) },
];
const archive = Buffer.concat([...entries.map((entry) => entryBytes(entry, 1_790_000_000_000)), ARCHIVE_END]);

/** Reads an archive from a file that gives `most` bytes at a time. */
function read(bytes: Buffer, most = 333): Promise<ArchiveEntry[]> {
  let at = 0;
  const source = {
    async read(into: Buffer, offset: number, length: number) {
      const bytesRead = bytes.copy(into, offset, at, at + Math.min(length, most));
      at += bytesRead;
      return { bytesRead };
    },
  };
  return Array.fromAsync(readEntries(source));
}

test("what was written is read back, in chunks of any size", async () => {
  for (const length of [1, 511, 512, 513, archive.length])
    assert.deepEqual(await read(archive, length), entries);
});

test("tar can list the entries", { skip: spawnSync("tar", ["--version"]).status !== 0 }, () => {
  const { stdout, status } = spawnSync("tar", ["-tf", "-"], { input: archive, encoding: "utf8" });
  assert.equal(status, 0);
  assert.deepEqual(
    stdout.trim().split("\n"),
    entries.map(({ name }) => name),
  );
});

test("one that ends at any byte before its end, or after it, is damaged", async () => {
  for (let length = 0; length < archive.length; length += 97)
    await assert.rejects(read(archive.subarray(0, length)), DamagedBackupError, String(length));
  await assert.rejects(read(archive.subarray(0, -1)), DamagedBackupError);
  await assert.rejects(read(Buffer.concat([archive, Buffer.alloc(1)])), DamagedBackupError);
});

test("a changed byte is detected, or is in a content, which has its own checksum", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(archive.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const changed = Buffer.from(archive);
      changed[at] = (changed[at] ?? 0) ^ change;
      const found = await read(changed).catch((error: unknown) => {
        assert.ok(error instanceof DamagedBackupError, String(error));
        return undefined;
      });
      if (found === undefined) return;
      assert.deepEqual(
        found.map(({ name }) => name),
        entries.map(({ name }) => name),
      );
      assert.notDeepEqual(found, entries);
    }),
  );
});

test("an entry whose stated size exceeds any part is damaged, before it is read into memory", async () => {
  const huge = entryBytes({ name: "backup.json", content: Buffer.alloc(0) }, 0);
  huge.write("77777777777", 124);
  let sum = 0;
  for (let at = 0; at < 512; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (huge[at] ?? 0);
  huge.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  await assert.rejects(read(huge), /too large/);
});
