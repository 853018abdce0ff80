import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { withoutProgress } from "../support/command-lines.ts";
import { postLogin } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

async function bellhop(args: readonly string[], input = "") {
  const child = spawn(process.execPath, [MAIN, "operator", ...args], {
    env: { ...process.env, DATABASE_URL: service.database.url },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, out, err: withoutProgress(err) };
}

test("operators are created by commands, with a generated or given password, and log in with it", async () => {
  const made = JSON.parse((await bellhop(["create", "anna", "--json"])).out) as Record<string, string>;
  const login = { name: "anna", password: made["password"] };
  assert.equal((await postLogin(service, login)).status, 200);
  const given = await bellhop(
    ["create", "berta", "--password-stdin", "--role", "viewer", "--grant", "ACME/*"],
    "a horse of my own\n",
  );
  assert.equal(given.code, 0, given.err);
  assert.ok(!given.out.includes("a horse of my own"));
  assert.equal((await postLogin(service, { name: "berta", password: "a horse of my own" })).status, 200);

  assert.match((await bellhop(["disable", "anna"])).out, /anna cannot log in any more/);
  assert.equal((await postLogin(service, login)).status, 401);
  await bellhop(["enable", "anna"]);
  const changed = JSON.parse((await bellhop(["password", "anna", "--json"])).out) as Record<string, string>;
  assert.equal((await postLogin(service, login)).status, 401);
  assert.equal((await postLogin(service, { name: "anna", password: changed["password"] })).status, 200);

  await bellhop(["set", "berta", "--role", "revenue", "--grant", "ACME/LON01", "--grant", "ACME/PAR01"]);
  const { out } = await bellhop(["list"]);
  assert.match(out, /^NAME +ROLE +GRANTS +STATE +LAST LOGIN/);
  assert.match(out, /anna +admin +\*\/\* +active +\d{4}-/);
  assert.match(out, /berta +revenue +ACME\/LON01 ACME\/PAR01 +active/);
  assert.match((await bellhop(["remove", "berta"])).out, /^berta was removed/);
  assert.doesNotMatch((await bellhop(["list"])).out, /berta/);
});

test("an existing or invalid name, a weak password and an unknown operator are reported in one line", async () => {
  const admin = ["--role", "admin", "--grant", "*/*"];
  await bellhop(["create", "carla", ...admin]);
  const bad: [string[], string, RegExp][] = [
    [["create", "carla", ...admin], "", /^bellhop: An operator carla already exists\.\n$/],
    [["create", "Carla"], "", /^bellhop: An operator's name must have 1 to 64 characters/],
    [
      ["create", "dora", "--password-stdin"],
      "short\n",
      /^bellhop: A password must have 12 to 256 characters\.\n$/,
    ],
    [["create", "dora"], "", /^bellhop: Name the operator's role: viewer, revenue, operator, admin\./],
    [["create", "dora", "--role", "viewer"], "", /^bellhop: Name the properties: /],
    [
      ["create", "dora", "--role", "viewer", "--grant", "*/LON01"],
      "",
      /^bellhop: A grant must name a client code/,
    ],
    [["set", "nobody", "--role", "viewer"], "", /^bellhop: No operator is named "nobody"/],
    [["remove", "nobody"], "", /^bellhop: No operator is named "nobody"/],
    [["disable", "nobody"], "", /^bellhop: No operator is named "nobody"/],
    [["password", "nobody"], "", /^bellhop: No operator is named "nobody"/],
  ];
  for (const [args, input, words] of bad) {
    const { code, err } = await bellhop(args, input);
    assert.equal(code, 1, args.join(" "));
    assert.match(err, words);
  }
});
