import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { cp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";
import { groupRecord } from "../support/records.ts";
import { findPython, runExample } from "../support/run-example.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

/**
 * The programs that the guides show, run as a reader would run them, in each language with a hotel of its own. What a program prints must be
 * what the file beside it says (the guide shows both). `WRITE_PRINTS=1` writes those files anew: look at the difference.
 */
const root = fileURLToPath(new URL("../../", import.meta.url));
const GUIDES = join(root, "examples/guides");
const RUN_EXAMPLES = join(root, "examples/run.ts");
/** What the programs of a language share; it prints nothing by itself. */
const SHARED = /^bellhop\./;
/** A server, which runs until it is stopped: in one language. */
const RECEIVER = "webhooks.mjs";
const programs = (ending: string) =>
  globSync(`*.${ending}`, { cwd: GUIDES })
    .filter((name) => !SHARED.test(name) && name !== RECEIVER)
    .sort();
const names = programs("sh").map((name) => name.replace(/\.sh$/, ""));

const WAIT_MS_MAX = 100_000;

let service: TestService;
let client: TestClient;
/** Where the programs keep the token that they share. */
let tokens: string;
before(async () => {
  service = await startTestService({ webhookAllowedNetworks: ["127.0.0.0/8"] });
  client = await service.newClient({ grants: [{ clientCode: "DEMO", propertyCode: "*" }] });
  tokens = await temporaryDirectory("tokens");
});
after(async () => {
  await service.stop();
  await rm(tokens, { recursive: true });
});

async function run(
  command: string,
  args: readonly string[],
  property: string,
  secret = client.clientSecret,
  { cwd = GUIDES, tokenFile = join(tokens, secret) }: { cwd?: string; tokenFile?: string | null } = {},
): Promise<string> {
  const { address } = service;
  const own = { ...client, clientSecret: secret };
  return await runExample(command, args, { cwd, address, client: own, property, tokenFile });
}

/** What differs from run to run: ids and times. */
function settled(printed: string): string {
  return printed
    .replace(
      /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
      "019c13ec-9e7b-774c-8000-000000000000",
    )
    .replace(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "2026-01-31T12:00:00Z");
}

function assertPrints(file: string, printed: string): void {
  const expected = join(GUIDES, `${file}.txt`);
  if (process.env["WRITE_PRINTS"] === "1") writeFileSync(expected, settled(printed));
  assert.equal(settled(printed), readFileSync(expected, "utf8"));
}

/** What an adapter printed, and whether it ended well. */
async function runAdapter(hotel: string): Promise<string> {
  return await run(
    process.execPath,
    [RUN_EXAMPLES, join(root, "examples/pms-adapter/adapter.ts"), "--hotel", hotel],
    "",
  );
}

describe("the adapter of a property management system", () => {
  test("sends what changed and nothing else, and every night; a cancellation gives its rooms back", async () => {
    const hotel = await temporaryDirectory("adapter");
    await cp(join(root, "examples/pms-adapter/hotel"), hotel, { recursive: true });
    const readme = await readFile(join(root, "examples/pms-adapter/README.md"), "utf8");
    const first = await runAdapter(hotel);
    assert.ok(readme.includes(`\`\`\`\n${first}\`\`\``), first);
    assert.equal(await runAdapter(hotel), "reservations: 0 sent\ninventory: 14 sent, 14 unchanged\n");

    const bookings = join(hotel, "bookings.csv");
    const text = await readFile(bookings, "utf8");
    const cancelled = "2025-03-01T10:00:00Z";
    const changed = text.replace(
      /^B-2,Confirmed,(.*),[^,]*,$/m,
      `B-2,Cancelled,$1,${cancelled},${cancelled}`,
    );
    assert.notEqual(changed, text);
    await writeFile(bookings, changed);
    assert.equal(
      await runAdapter(hotel),
      "reservations: 1 sent, 1 applied\ninventory: 14 sent, 3 applied, 11 unchanged\n",
    );

    const nights = "clientCode=DEMO&propertyCode=LON01&from=2027-06-01&to=2027-06-03";
    const books = await service.get(`/api/insight/v1/on-the-books?${nights}`, { as: client });
    const items = books.json()["items"] as { rooms: number; soldReported: number }[];
    assert.deepEqual(
      items.map(({ rooms, soldReported }) => [rooms, soldReported]),
      [
        [1, 1],
        [2, 2],
        [0, 0],
      ],
    );
    await rm(hotel, { recursive: true });
  });

  test("notes no booking as sent that was refused, however many are", async (t) => {
    const hotel = await temporaryDirectory("adapter");
    t.after(() => rm(hotel, { recursive: true }));
    await cp(join(root, "examples/pms-adapter/hotel"), hotel, { recursive: true });
    const bookings = join(hotel, "bookings.csv");
    const [head, , confirmed = ""] = (await readFile(bookings, "utf8")).split("\n");
    const many = Array.from({ length: 1_100 }, (_, at) => confirmed.replace("B-2", `M-${at}`));
    await writeFile(bookings, [head, ...many, ""].join("\n"));
    const own = join(hotel, "hotel.csv");
    await writeFile(own, (await readFile(own, "utf8")).replace("DEMO", "FOREIGN"));
    await assert.rejects(runAdapter(hotel), /record 0 rejected \(oauth\.insufficient_scope\)/);
    const [sent = ""] = globSync("sent-*.json", { cwd: hotel });
    assert.equal(await readFile(join(hotel, sent), "utf8"), "{}");
    assert.equal(sent, `sent-${service.address.replace(/[^A-Za-z0-9]/g, "_")}.json`);
  });
});

describe("the programs of the guides", () => {
  test("that load a hotel's history end with the reason where something is missing, in each language", async (t) => {
    const copy = await temporaryDirectory("guides");
    t.after(() => rm(copy, { recursive: true }));
    await cp(GUIDES, copy, { recursive: true });
    const languages = [
      ["sh", "cold-start.sh"],
      [process.execPath, RUN_EXAMPLES, "cold-start.mjs"],
    ];
    const python = await findPython();
    if (python === undefined) t.diagnostic("this machine has no python3");
    else languages.push([python, "cold-start.py"]);
    for (const [command = "", ...args] of languages) {
      const name = args.at(-1) ?? "";
      const whole = await readFile(join(copy, name), "utf8");
      const short = whole.replace(/^(night 2025-01-02|(await )?send\("2025-01-02"\);?)\n/m, "");
      assert.notEqual(short, whole);
      await writeFile(join(copy, name), short);
      const ran = run(command, args, `LON-GAP-${name}`, client.clientSecret, { cwd: copy });
      await assert.rejects(ran, /bellhop\.backfill\.HasGaps/, name);
    }
  });

  test("exist in each language, each with its output", () => {
    assert.ok(names.length >= 7);
    for (const ending of ["mjs", "py"])
      assert.deepEqual(
        programs(ending).map((name) => name.replace(/\.\w+$/, "")),
        names,
      );
    const prints = globSync("*.txt", { cwd: GUIDES }).map((name) => name.replace(/\.txt$/, ""));
    assert.deepEqual(prints.sort(), [...["sh", "mjs", "py"].flatMap(programs), RECEIVER].sort());
  });

  for (const file of programs("sh"))
    test(`${file} prints the guide's output`, async () => {
      assertPrints(file, await run("sh", [file], "LON-SH"));
    });

  describe("in JavaScript", () => {
    let printed: ReadonlyMap<string, string>;
    before(async () => {
      const out = await run(
        process.execPath,
        [RUN_EXAMPLES, ...programs("mjs").map((name) => join(GUIDES, name))],
        "LON-TS",
      );
      const parts = out.split(/^=== .*\/([\w-]+\.mjs)\n/m).slice(1);
      printed = new Map(
        parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1] ?? ""] as const] : [])),
      );
    });
    for (const file of programs("mjs"))
      test(`${file} prints the guide's output`, () => {
        assertPrints(file, printed.get(file) ?? assert.fail(`${file} did not run`));
      });
  });

  test("in Python end with status and body where the service refuses", async (t) => {
    const python = await findPython();
    if (python === undefined) return t.skip("this machine has no python3");
    await assert.rejects(run(python, ["inventory.py"], "LON-NO", "bhs_wrong"), /401: .*invalid_client/);
    // The client was granted DEMO alone.
    const pushes = "from bellhop import outcome, push; push('groups', [{'clientCode': 'ACME'}])";
    await assert.rejects(run(python, ["-c", pushes], "LON-NO"), /40[03]: /);
    const asks = "from bellhop import outcome; outcome('00000000-0000-7000-8000-000000000000')";
    await assert.rejects(run(python, ["-c", asks], "LON-NO"), /404: .*exception/);
  });

  test("in curl end with status and body where the service refuses, also within $( )", async () => {
    await assert.rejects(run("sh", ["inventory.sh"], "LON-NO", "bhs_wrong"), /token: 401 .*invalid_client/);
    const refused = (script: string, pattern: RegExp) =>
      assert.rejects(run("sh", ["-c", `. ./bellhop.sh; ${script}; echo went on`], "LON-NO"), (error) => {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        assert.match(stderr, pattern);
        assert.doesNotMatch(stdout, /went on/);
        return true;
      });
    await refused('outcome "$(echo [] | push groups)" | grep applied', /groups: 400 .*exception/);
    await refused("get /api/public/v1/requests/none", /none: 404 .*exception/);
  });

  test("of all languages share one token, which only its owner can read", async (t) => {
    // Without TOKEN_FILE, all languages name the file after service and client.
    const folder = await temporaryDirectory("shared-token");
    for (const name of ["bellhop.sh", "quickstart.sh"]) await cp(join(GUIDES, name), join(folder, name));
    const name = `.bellhop-token-${`${service.address}-${client.clientId}`.replace(/[^A-Za-z0-9]/g, "_")}`;
    const file = join(folder, name);
    const runHere = (command: string, args: readonly string[]) =>
      run(command, args, "LON-ONE", client.clientSecret, { cwd: folder, tokenFile: null });
    const languages = [
      ["sh", "quickstart.sh"],
      [process.execPath, RUN_EXAMPLES, join(GUIDES, "quickstart.mjs")],
    ];
    const python = await findPython();
    if (python === undefined) t.diagnostic("this machine has no python3");
    else languages.push([python, join(GUIDES, "quickstart.py")]);
    for (const [command = "", ...args] of languages) {
      await rm(file, { force: true });
      await runHere(command, args);
      assert.equal((await stat(file)).mode & 0o777, 0o600, command);
      const token = await readFile(file, "utf8");
      for (const [other = "", ...others] of languages) await runHere(other, others);
      assert.equal(await readFile(file, "utf8"), token);
    }
    // Other pages need it in the shell.
    const told = await readFile(join(root, "docs/guides/quickstart.md"), "utf8");
    const [, line] = /`([^`]+; export TOKEN)`/.exec(told) ?? assert.fail();
    const asked = `${line}; curl -sS "$BASE_URL/api/public/v1/requests?limit=1" -H "Authorization: Bearer $TOKEN"`;
    assert.match(await runHere("sh", ["-c", asked]), /^\{"items":\[\{/);
    await rm(folder, { recursive: true });
  });

  for (const file of programs("py"))
    test(`${file} prints the guide's output`, async (t) => {
      // The service needs no Python, so a machine may have none: then these are not run, and the result says so.
      const python = await findPython();
      if (python === undefined)
        return t.skip("this machine has no python3: the Python programs were not run");
      assertPrints(file, await run(python, [file], "LON-PY"));
    });
});

describe("the receiver of webhooks", () => {
  test("accepts only messages signed by the service, each once", async (context) => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    const registered = await service.send("POST", "/api/public/v1/webhooks", {
      as: client,
      body: { url, events: ["request.applied"] },
    });
    const secret = String(registered.json()["secret"]);
    const receiver = spawn(process.execPath, [join(GUIDES, RECEIVER)], {
      env: { PATH: process.env["PATH"], WEBHOOK_SECRET: secret, PORT: new URL(url).port },
      stdio: ["ignore", "pipe", "inherit"],
    });
    context.after(() => receiver.kill());
    let printed = "";
    receiver.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    const post = async (body: string, id: string, at: Date, signature: string) => {
      const headers = { "webhook-id": id, "webhook-timestamp": String(Math.floor(+at / 1000)) };
      const init = { method: "POST", body, headers: { ...headers, "webhook-signature": signature } };
      return (await fetch(url, init)).status;
    };
    await until(async () => (await post("", "", new Date(), "").catch(() => 0)) === 401, WAIT_MS_MAX);
    const body = JSON.stringify({ type: "webhook.test", data: {} });
    const now = new Date();
    const old = new Date(+now - 301_000);
    const own = new Webhook(secret);
    const other = new Webhook(`whsec_${Buffer.alloc(32).toString("base64")}`).sign("msg_1", now, body);
    assert.equal(await post(body, "msg_1", now, `${other} ${own.sign("msg_1", now, body)}`), 204);
    assert.equal(await post(body, "msg_1", now, other), 401);
    assert.equal(await post(`${body} `, "msg_1", now, own.sign("msg_1", now, body)), 401);
    assert.equal(await post(body, "msg_2", now, own.sign("msg_1", now, body)), 401);
    assert.equal(await post(body, "msg_1", old, own.sign("msg_1", old, body)), 401);

    await service.post("groups", [groupRecord({ clientCode: "DEMO", propertyCode: "LON-WH" })], {
      as: client,
    });
    await until(() => printed.split("\n").length === 4, WAIT_MS_MAX);
    assertPrints(RECEIVER, printed);
    // The same once more changes nothing.
    const applied = JSON.stringify({ type: "request.applied", data: { requestId: "again" } });
    for (const id of ["msg_3", "msg_3"])
      assert.equal(await post(applied, id, now, own.sign(id, now, applied)), 204);
    await until(() => printed.includes("again"), WAIT_MS_MAX);
    assert.equal(printed.split("\n").length, 5);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
