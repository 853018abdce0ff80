import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { chmod, lchown, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { temporaryDirectory } from "../../../test/support/test-server.ts";
import { prepareHome } from "../db/embedded/home.ts";
import { createOwnFile, demandOwnDirectory, readOwnFile, replaceOwnFile } from "./own-files.ts";

const onlyRoot = process.getuid?.() === 0 ? {} : { skip: "only root can give files away" };
/** An account that exists on every Unix. */
const OTHER = 65_534;

describe("a data directory that other users can write", () => {
  test("is refused, by its mode", async () => {
    const directory = await temporaryDirectory("open");
    for (const mode of [0o777, 0o1777, 0o702]) {
      await chmod(directory, mode);
      await assert.rejects(prepareHome(directory), /^Error: Every user can write DATA_DIR .*chmod o-w/);
    }
    assert.deepEqual(await readdir(directory), []);
    await chmod(directory, 0o775);
    await demandOwnDirectory(directory, "DATA_DIR");
  });

  test("is refused once it is closed while it has something of theirs", onlyRoot, async () => {
    const directory = await temporaryDirectory("planted");
    await symlink("/etc/passwd", `${directory}/postgres-start.log`);
    await demandOwnDirectory(directory, "DATA_DIR");
    await lchown(`${directory}/postgres-start.log`, OTHER, OTHER);
    await assert.rejects(
      prepareHome(directory),
      /postgres-start\.log belongs to user 65534, who may have planted/,
    );
    await mkdir(`${directory}/postgres`);
    await lchown(`${directory}/postgres-start.log`, 0, 0);
    await lchown(`${directory}/postgres`, OTHER, OTHER);
    await demandOwnDirectory(directory, "DATA_DIR", ["postgres"]);
  });
});

test("a file that was planted is not read", async () => {
  const directory = await temporaryDirectory("read");
  await writeFile(`${directory}/own`, "own");
  await symlink(`${directory}/own`, `${directory}/link`);
  assert.equal(await readOwnFile(`${directory}/own`), "own");
  assert.equal(await readOwnFile(`${directory}/none`), undefined);
  await assert.rejects(readOwnFile(`${directory}/link`), /link is a link: remove it/);
  await symlink(`${directory}/own`, `${directory}/postgres-password`);
  await assert.rejects(prepareHome(directory), /postgres-password is a link: remove it/);
  if (process.getuid?.() !== 0) return;
  await lchown(`${directory}/own`, OTHER, OTHER);
  await assert.rejects(readOwnFile(`${directory}/own`), /belongs to user 65534/);
});

test("a file is written in the place of a link, not through it, and readable by its owner alone", async () => {
  const directory = await temporaryDirectory("write");
  const target = `${directory}/target`;
  await writeFile(target, "untouched");
  for (const [name, write] of [
    ["replaced", (path: string) => replaceOwnFile(path, "text")],
    ["created", async (path: string) => writeFileSync(createOwnFile(path), "text")],
  ] as const) {
    const path = `${directory}/${name}`;
    await symlink(target, path);
    await write(path);
    assert.equal(await readFile(path, "utf8"), "text");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  }
  assert.equal(await readFile(target, "utf8"), "untouched");
  assert.deepEqual((await readdir(directory)).sort(), ["created", "replaced", "target"]);
});
