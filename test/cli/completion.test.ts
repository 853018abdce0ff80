import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { before, describe, test } from "node:test";
import { bellhop } from "../support/command.ts";

/** What bash offers at the end of a line, by the script that Bellhop prints. */
const OFFER = `
eval "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_bellhop
printf '%s\\n' "\${COMPREPLY[@]}"
`;

describe("bellhop completion", () => {
  let script: string;
  before(async () => {
    script = (await bellhop(["completion", "bash"], {})).out;
  });

  const offered = (...words: string[]): string[] =>
    execFileSync("bash", ["--norc", "-c", OFFER, "bash", ...words], {
      env: { SCRIPT: script },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    })
      .split("\n")
      .filter(Boolean);

  test("offers commands, verbs, options and their choices in bash", () => {
    assert.deepEqual(offered("bellhop", "cl"), ["client"]);
    assert.deepEqual(offered("bellhop", "client", "re"), ["revoke"]);
    assert.ok(offered("bellhop", "client", "r").includes("rotate-secret"));
    assert.deepEqual(offered("bellhop", "client", "create", "--gr"), ["--grant"]);
    assert.deepEqual(offered("bellhop", "client", "create", "--name", "X", "--js"), ["--json"]);
    assert.deepEqual(offered("bellhop", "send", "file", "--resource", "g"), ["groups"]);
    assert.deepEqual(offered("bellhop", "label", "map", "ACME", "res"), ["reservations"]);
    assert.deepEqual(offered("bellhop", "backup", "--ver"), ["--verify"]);
    assert.deepEqual(offered("bellhop", "backup", ""), [], "files, by bash");
    assert.deepEqual(offered("bellhop", "send", "--rejected", ""), [], "files, by bash");
    assert.deepEqual(offered("bellhop", "delete", "client", "--dry"), ["--dry-run"]);
    assert.deepEqual(offered("bellhop", "nothing", "--he"), ["--help"]);
  });

  test("prints a script for each shell that names every option of a command once", async () => {
    for (const shell of ["zsh", "fish"]) {
      const { code, out } = await bellhop(["completion", shell], {});
      assert.equal(code, 0);
      for (const word of ["client", "rotate-secret", "token-burst", "quarantine"])
        assert.match(out, new RegExp(word));
    }
  });
});
