import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { bellhop } from "../support/command.ts";
import { type AuthNode, requestToken, startAuthService, statusWith } from "./auth-service.ts";

describe("the commands on clients, tokens and keys", () => {
  let node: AuthNode;
  before(async () => {
    node = await startAuthService();
  });
  after(() => node.stop());

  const run = (command: string, ...args: string[]) => bellhop([command, ...args], {}, node.admin);
  const runJson = async (command: string, ...args: string[]): Promise<Record<string, unknown>> => {
    const { code, out, err } = await run(command, ...args, "--json");
    assert.equal(code, 0, err);
    assert.equal(out.split("\n").length, 1, "one line");
    return JSON.parse(out) as Record<string, unknown>;
  };
  const createOne = async (...more: string[]) => {
    const made = await runJson("client", "create", "--name", "Acme PMS", "--grant", "ACME/*", ...more);
    return { clientId: String(made["client_id"]), clientSecret: String(made["client_secret"]) };
  };

  it("creates a client and prints one JSON object whose credentials get a token", async () => {
    const made = await runJson(
      "client",
      ...["create", "--name", "Acme PMS", "--grant", "ACME/H1", "--grant", "ACME/H2", "--scope", "read"],
      ...["--scope", "groups:write", "--rate", "5", "--burst", "9", "--token-burst", "3"],
      ...["--reply-to-origin", "https://acme.example"],
    );
    assert.deepEqual(made["grants"], ["ACME/H1", "ACME/H2"]);
    assert.deepEqual(made["scopes"], ["groups:write", "read"]);
    assert.deepEqual([made["request_rate"], made["request_burst"], made["token_burst"]], [5, 9, 3]);
    assert.deepEqual(made["reply_to_origins"], ["https://acme.example"]);
    const credentials = { clientId: String(made["client_id"]), clientSecret: String(made["client_secret"]) };
    for (const text of Object.values(credentials)) assert.match(text, /^[A-Za-z0-9_-]+$/);
    assert.equal((await requestToken(node.url, credentials)).status, 200);
  });

  it("gives every scope of tokens when none is named, as documented, and never the operator's introspect", async () => {
    const made = await runJson("client", "create", "--name", "A", "--grant", "ACME/*");
    const documented = /^- Without `--scope` [^`]*`([^`]+)`/m.exec(
      await readFile(new URL("../../docs/authentication.md", import.meta.url), "utf8"),
    );
    assert.deepEqual(documented?.[1]?.split(" "), made["scopes"]);
    assert.deepEqual(made["scopes"], [
      "inventories:write",
      "reservations:write",
      "groups:write",
      "read",
      "insight:read",
      "webhooks",
    ]);
  });

  it("shows a secret to people once, and never again", async () => {
    const created = await run("client", "create", "--name", "Acme", "--grant", "ACME/*");
    const [, clientId = "", secret = ""] = /client id +(\S+)\n +client secret +(\S+)/.exec(created.out) ?? [];
    assert.match(secret, /^bhs_/);
    const shown = await run("client", "show", clientId);
    const listed = await run("client", "list");
    assert.match(shown.out, /SECRET CREATED/);
    for (const { out } of [shown, listed]) {
      assert.ok(out.includes(clientId));
      assert.ok(!out.includes(secret));
    }
  });

  it("lists clients in columns, without letting a name control the terminal", async () => {
    await assert.doesNotReject(createOne());
    const { rows } = await node.pool.query<{ client_id: string }>(
      "select client_id from bellhop.client limit 1",
    );
    await node.pool.query("update bellhop.client set name = E'\\u001b[2Jhidden' where client_id = $1", [
      rows[0]?.client_id,
    ]);
    const { out } = await run("client", "list");
    assert.ok(!out.includes("\u001b"));
    assert.ok(out.includes("\\u001b[2Jhidden"));
    const [heading = "", ...lines] = out.split("\n");
    for (const line of lines) assert.match(line.slice(heading.indexOf("STATE")), /^(active|revoked)/);
  });

  it("changes a client: adds and removes grants, replaces scopes, returns to the configured rate", async () => {
    const { clientId } = await createOne("--rate", "5");
    const changed = await runJson(
      "client",
      ...[
        "update",
        clientId,
        "--add-grant",
        "BETA/H1",
        "--remove-grant",
        "ACME/*",
        "--scope",
        "read,introspect",
        "--rate",
        "default",
      ],
    );
    assert.deepEqual(changed["grants"], ["BETA/H1"]);
    assert.deepEqual(changed["scopes"], ["read", "introspect"]);
    assert.equal(changed["request_rate"], null);
    const refused = await run("client", "update", clientId, "--remove-grant", "ACME/H9");
    assert.equal(refused.code, 1);
    assert.match(refused.err, /no grant ACME\/H9/);
    assert.equal((await run("client", "update", clientId)).code, 2);
  });

  it("rotates a secret with an overlap and revokes a client", async () => {
    const first = await createOne();
    const rotated = await runJson("client", "rotate-secret", first.clientId, "--overlap", "2h");
    const endsAt = Date.parse(String(rotated["previous_secret_expires_at"]));
    assert.ok(Math.abs(endsAt - Date.now() - 7_200_000) < 60_000);
    const second = { clientId: first.clientId, clientSecret: String(rotated["client_secret"]) };
    for (const credentials of [first, second])
      assert.equal((await requestToken(node.url, credentials)).status, 200);
    await runJson("client", "rotate-secret", first.clientId, "--expires", "90d");
    const { secrets } = (await runJson("client", "show", first.clientId)) as {
      secrets: { expiresAt: string | null }[];
    };
    assert.equal(secrets.filter(({ expiresAt }) => expiresAt !== null).length, 2);
    await runJson("client", "revoke", "--client-id", first.clientId);
    assert.equal((await requestToken(node.url, second)).status, 401);
    const again = await run("client", "rotate-secret", first.clientId);
    assert.equal(again.code, 1);
    assert.match(again.err, /was revoked/);
  });

  it("prints a token alone on standard output, and revokes it", async () => {
    const { clientId } = await createOne();
    const { code, out, err } = await run("token", "--client-id", clientId, "--scope", "read", "--for", "5m");
    assert.equal(code, 0);
    assert.equal(await statusWith(node.url, out), 200);
    assert.match(err, /Valid for 300 s, with read/);
    const revoked = await runJson("token", "revoke", out);
    assert.equal(revoked["already_revoked"], false);
    assert.equal(await statusWith(node.url, out), 403);
    const asJson = await runJson("token", "--client-id", clientId);
    assert.equal(asJson["expires_in"], 3600);
    const token = String(asJson["access_token"]);
    await run("token", "revoke", String(asJson["token_id"]));
    assert.equal(await statusWith(node.url, token), 403);
    assert.equal((await run("token", "revoke", "nonsense")).code, 1);
  });

  it("rotates keys and lists their states", async () => {
    const rotated = await runJson("key", "rotate", "--announce", "1h");
    const { keys } = (await runJson("key", "list")) as unknown as {
      keys: { kid: string; state: string }[];
    };
    assert.deepEqual(
      keys.map((key) => [key.kid === rotated["kid"], key.state]),
      [
        [true, "announced"],
        [false, "active"],
      ],
    );
    const refused = await run("key", "rotate");
    assert.equal(refused.code, 1);
    assert.match(refused.err, /already announced/);
    assert.match((await run("key", "list")).out, /^KEY +STATE +SIGNS FROM/);
  });

  it("answers a wrong command line with exit code 2 and what would be right", async () => {
    const wrong: [string, string[], RegExp][] = [
      ["client", [], /create +create a client/],
      ["client", ["destroy"], /The commands are create, list, show, update, rotate-secret, revoke/],
      ["client", ["__proto__"], /The commands are create/],
      ["client", ["create", "--grant", "ACME/*"], /--name is missing/],
      ["client", ["create", "--name", "A", "--grant", "ACME"], /CLIENTCODE\/PROPERTYCODE/],
      ["client", ["create", "--name", "A", "--grant", "*/H1"], /client code/],
      ["client", ["create", "--name", "A", "--grant", "A/*", "--rate", "-1"], /rate/],
      ["client", ["create", "--name", "A", "--grant", "A/*", "--what"], /--what/],
      ["client", ["show"], /CLIENT_ID is missing/],
      ["client", ["show", "a", "b"], /Unexpected argument "b"/],
      ["client", ["rotate-secret", "a", "--overlap", "soon"], /90s, 15m, 24h or 7d/],
      [
        "client",
        ["create", "--name", "A", "--grant", "A/*", "--expires", "soon"],
        /--expires must be a duration/,
      ],
      ["token", ["--for", "10m"], /--for need a CLIENT_ID/],
      ["token", ["revoke"], /TOKEN is missing/],
      ["key", ["rotate", "--leaked", "--announce", "1h"], /--announce cannot be combined with --leaked/],
    ];
    for (const [command, args, message] of wrong) {
      const { code, out, err } = await run(command, ...args);
      assert.equal(code, 2, args.join(" "));
      assert.equal(out, "");
      assert.match(err, message);
      assert.match(err, /Usage:|See bellhop .* --help/);
    }
  });

  it("exits with 1 and names the alternatives when an operation is impossible", async () => {
    const unknown = await run("client", "show", "bhc_nobody");
    assert.deepEqual([unknown.code, unknown.out], [1, ""]);
    assert.match(unknown.err, /client list/);
    const scope = await run("client", "create", "--name", "A", "--grant", "A/*", "--scope", "write");
    assert.equal(scope.code, 1);
    assert.match(
      scope.err,
      /inventories:write, reservations:write, groups:write, read, insight:read, webhooks, introspect/,
    );
    const without = await run("client", "create", "--name", "A");
    assert.equal(without.code, 2);
    assert.match(without.err, /--grant/);
    assert.equal((await run("client", "create", "--help")).code, 0);
  });
});
