import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { clientCommand } from "../../src/cli/client-commands.ts";
import { keyCommand } from "../../src/cli/key-commands.ts";
import { tokenCommand } from "../../src/cli/token-command.ts";
import type { VerbContext } from "../../src/cli/verb.ts";
import { type AuthNode, requestToken, startAuthService, statusWith } from "./auth-service.ts";

type Command = (
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext,
) => Promise<number>;

describe("the commands on clients, tokens and keys", () => {
  let node: AuthNode;
  before(async () => {
    node = await startAuthService();
  });
  after(() => node.stop());

  async function run(command: Command, ...args: string[]) {
    const [out, err]: [string[], string[]] = [[], []];
    const context: VerbContext = {
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      withAdmin: (work) => work(node.admin),
    };
    const code = await command(args, {}, context);
    return { code, out: out.join("\n"), err: err.join("\n") };
  }
  const runJson = async (command: Command, ...args: string[]): Promise<Record<string, unknown>> => {
    const { code, out, err } = await run(command, ...args, "--json");
    assert.equal(code, 0, err);
    assert.equal(out.split("\n").length, 1, "one line");
    return JSON.parse(out) as Record<string, unknown>;
  };
  const createOne = async (...more: string[]) => {
    const made = await runJson(clientCommand, "create", "--name", "Acme PMS", "--grant", "ACME/*", ...more);
    return { clientId: String(made["client_id"]), clientSecret: String(made["client_secret"]) };
  };

  it("creates a client and prints one JSON object whose credentials get a token", async () => {
    const made = await runJson(
      clientCommand,
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
    const made = await runJson(clientCommand, "create", "--name", "A", "--grant", "ACME/*");
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
    const created = await run(clientCommand, "create", "--name", "Acme", "--grant", "ACME/*");
    const [, clientId = "", secret = ""] = /client id +(\S+)\n +client secret +(\S+)/.exec(created.out) ?? [];
    assert.match(secret, /^bhs_/);
    const shown = await run(clientCommand, "show", clientId);
    const listed = await run(clientCommand, "list");
    assert.match(shown.out, /SECRET MADE/);
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
    const { out } = await run(clientCommand, "list");
    assert.ok(!out.includes("\u001b"));
    assert.ok(out.includes("\\u001b[2Jhidden"));
    const [heading = "", ...lines] = out.split("\n");
    for (const line of lines) assert.match(line.slice(heading.indexOf("STATE")), /^(active|revoked)/);
  });

  it("changes a client: adds and removes grants, replaces scopes, returns to the configured rate", async () => {
    const { clientId } = await createOne("--rate", "5");
    const changed = await runJson(
      clientCommand,
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
    const refused = await run(clientCommand, "update", clientId, "--remove-grant", "ACME/H9");
    assert.equal(refused.code, 1);
    assert.match(refused.err, /no grant ACME\/H9/);
    assert.equal((await run(clientCommand, "update", clientId)).code, 2);
  });

  it("rotates a secret with an overlap and revokes a client", async () => {
    const first = await createOne();
    const rotated = await runJson(clientCommand, "rotate-secret", first.clientId, "--overlap", "2h");
    const endsAt = Date.parse(String(rotated["previous_secret_expires_at"]));
    assert.ok(Math.abs(endsAt - Date.now() - 7_200_000) < 60_000);
    const second = { clientId: first.clientId, clientSecret: String(rotated["client_secret"]) };
    for (const credentials of [first, second])
      assert.equal((await requestToken(node.url, credentials)).status, 200);
    await runJson(clientCommand, "rotate-secret", first.clientId, "--expires", "90d");
    const { secrets } = (await runJson(clientCommand, "show", first.clientId)) as {
      secrets: { expiresAt: string | null }[];
    };
    assert.equal(secrets.filter(({ expiresAt }) => expiresAt !== null).length, 2);
    await runJson(clientCommand, "revoke", "--client-id", first.clientId);
    assert.equal((await requestToken(node.url, second)).status, 401);
    const again = await run(clientCommand, "rotate-secret", first.clientId);
    assert.equal(again.code, 1);
    assert.match(again.err, /was revoked/);
  });

  it("prints a token alone on standard output, and revokes it", async () => {
    const { clientId } = await createOne();
    const { code, out, err } = await run(
      tokenCommand,
      "--client-id",
      clientId,
      "--scope",
      "read",
      "--for",
      "5m",
    );
    assert.equal(code, 0);
    assert.equal(await statusWith(node.url, out), 200);
    assert.match(err, /300 s, with read/);
    const revoked = await runJson(tokenCommand, "revoke", out);
    assert.equal(revoked["already_revoked"], false);
    assert.equal(await statusWith(node.url, out), 403);
    const asJson = await runJson(tokenCommand, "--client-id", clientId);
    assert.equal(asJson["expires_in"], 3600);
    const token = String(asJson["access_token"]);
    await run(tokenCommand, "revoke", String(asJson["token_id"]));
    assert.equal(await statusWith(node.url, token), 403);
    assert.equal((await run(tokenCommand, "revoke", "nonsense")).code, 1);
  });

  it("rotates keys and lists their states", async () => {
    const rotated = await runJson(keyCommand, "rotate", "--announce", "1h");
    const { keys } = (await runJson(keyCommand, "list")) as unknown as {
      keys: { kid: string; state: string }[];
    };
    assert.deepEqual(
      keys.map((key) => [key.kid === rotated["kid"], key.state]),
      [
        [true, "announced"],
        [false, "active"],
      ],
    );
    const refused = await run(keyCommand, "rotate");
    assert.equal(refused.code, 1);
    assert.match(refused.err, /announced already/);
    assert.match((await run(keyCommand, "list")).out, /^KEY +STATE +SIGNS FROM/);
  });

  it("answers a wrong command line with exit code 2 and what would be right", async () => {
    const wrong: [Command, string[], RegExp][] = [
      [clientCommand, [], /client create --name/],
      [clientCommand, ["destroy"], /there is create, list, show, update, rotate-secret, revoke/],
      [clientCommand, ["__proto__"], /there is create/],
      [clientCommand, ["create", "--grant", "ACME/*"], /--name is missing/],
      [clientCommand, ["create", "--name", "A", "--grant", "ACME"], /CLIENTCODE\/PROPERTYCODE/],
      [clientCommand, ["create", "--name", "A", "--grant", "*/H1"], /client code/],
      [clientCommand, ["create", "--name", "A", "--grant", "A/*", "--rate", "-1"], /rate/],
      [clientCommand, ["create", "--name", "A", "--grant", "A/*", "--what"], /--what/],
      [clientCommand, ["show"], /CLIENT_ID is missing/],
      [clientCommand, ["show", "a", "b"], /One CLIENT_ID at a time/],
      [clientCommand, ["rotate-secret", "a", "--overlap", "soon"], /90s, 15m, 24h or 7d/],
      [
        clientCommand,
        ["create", "--name", "A", "--grant", "A/*", "--expires", "soon"],
        /--expires is a duration/,
      ],
      [tokenCommand, [], /--client-id is missing/],
      [tokenCommand, ["revoke"], /TOKEN is missing/],
      [keyCommand, ["rotate", "--leaked", "--announce", "1h"], /does not go with it/],
    ];
    for (const [command, args, message] of wrong) {
      const { code, out, err } = await run(command, ...args);
      assert.equal(code, 2, args.join(" "));
      assert.equal(out, "");
      assert.match(err, message);
      assert.match(err, /Usage:|there is/);
    }
  });

  it("answers what cannot be done with exit code 1 and what can", async () => {
    const unknown = await run(clientCommand, "show", "bhc_nobody");
    assert.deepEqual([unknown.code, unknown.out], [1, ""]);
    assert.match(unknown.err, /client list/);
    const scope = await run(clientCommand, "create", "--name", "A", "--grant", "A/*", "--scope", "write");
    assert.equal(scope.code, 1);
    assert.match(
      scope.err,
      /inventories:write, reservations:write, groups:write, read, insight:read, webhooks, introspect/,
    );
    assert.equal((await run(clientCommand, "create", "--name", "A")).code, 1);
    assert.equal((await run(clientCommand, "create", "--help")).code, 0);
  });
});
