import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { reservationRecord } from "../support/records.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const REQUEST_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

type Handler = (request: IncomingMessage, response: ServerResponse, token: string) => void;

const accept: Handler = (_request, response) => {
  response.writeHead(202, { "content-type": "application/json" }).end(`{"requestId":"${REQUEST_ID}"}`);
};

const refuse: Handler = (_request, response) => {
  response.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token"' }).end();
};

/** A service that counts its tokens and answers batches as a test has it. */
class FakeService {
  tokens = 0;
  lifetimeS = 3_600;
  onBatch: Handler = accept;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const isToken = request.url === "/api/oauth2/token";
      request.resume().once("end", () => {
        if (isToken) this.#issue(response);
        else this.onBatch(request, response, request.headers.authorization ?? "");
      });
    });
  }

  #issue(response: ServerResponse): void {
    this.tokens += 1;
    const token = { access_token: `token-${this.tokens}`, token_type: "Bearer", expires_in: this.lifetimeS };
    response.end(JSON.stringify(token));
  }

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let service: FakeService;
let directory: string;
const services: FakeService[] = [];
beforeEach(async () => {
  directory = await temporaryDirectory("partner-waits");
  service = new FakeService();
  services.push(service);
  await service.start();
});
after(() => {
  for (const one of services) one.stop();
});

const inDirectory = (name: string) => join(directory, name);

async function fileOf(name: string, count = 2): Promise<string> {
  const records = Array.from({ length: count }, (_, at) =>
    reservationRecord({ reservationId: `${name}-${at}` }),
  );
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  await writeFile(inDirectory(name), lines.join(""));
  return inDirectory(name);
}

function start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const env = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    DATA_DIR: directory,
    XDG_CACHE_HOME: inDirectory("cache"),
    BELLHOP_URL: service.url,
    BELLHOP_CLIENT_ID: "client",
    BELLHOP_CLIENT_SECRET: "secret",
    ...environment,
  };
  return spawn(process.execPath, [MAIN, ...args], { env, cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const [out, err, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

const run = (args: readonly string[], environment?: NodeJS.ProcessEnv) => ended(start(args, environment));
const send = async (environment?: NodeJS.ProcessEnv) =>
  run(["send", await fileOf("a.ndjson"), "--no-wait"], environment);

/** Answers the batch once the command has written a line like this to standard error. */
async function runUntilLine(args: readonly string[], line: RegExp): Promise<Ended> {
  let said = "";
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  service.onBatch = (...request) => void released.then(() => accept(...request));
  const child = start(args);
  child.stderr?.on("data", (bytes) => {
    said += bytes;
  });
  const answer = ended(child);
  await until(async () => line.test(said), 60_000);
  release();
  return { ...(await answer), err: said };
}

describe("the token of a partner's command", () => {
  const tokenFiles = async () =>
    (await readdir(inDirectory("cache/bellhop/tokens"))).filter((name) => name.endsWith(".json"));
  const tokenFile = async () => inDirectory(`cache/bellhop/tokens/${(await tokenFiles())[0]}`);

  test("is stored for the next command, readable only to the user", async () => {
    for (let count = 0; count < 3; count += 1) assert.equal((await send()).code, 0);
    assert.equal(service.tokens, 1);
    assert.equal((await stat(await tokenFile())).mode & 0o777, 0o600);
    assert.equal((await stat(inDirectory("cache/bellhop/tokens"))).mode & 0o777, 0o700);
  });

  test("is never used for another address, client or secret", async () => {
    await send();
    const other = new FakeService();
    services.push(other);
    await other.start();
    const seen: string[] = [];
    other.onBatch = (request, response, token) => {
      seen.push(token);
      accept(request, response, token);
    };
    assert.equal((await send({ BELLHOP_URL: other.url })).code, 0);
    assert.equal(other.tokens, 1);
    assert.deepEqual(seen, ["Bearer token-1"]);
    await send({ BELLHOP_CLIENT_ID: "other" });
    await send({ BELLHOP_CLIENT_SECRET: "other" });
    assert.equal(service.tokens, 3);
    assert.equal((await tokenFiles()).length, 4);
  });

  test("is requested again when it expired, was refused or cannot be trusted", async () => {
    await send();
    const token = JSON.parse(await readFile(await tokenFile(), "utf8"));
    await writeFile(await tokenFile(), JSON.stringify({ ...token, renewAt: 1, expiresAt: 1 }));
    assert.equal((await send()).code, 0);
    assert.equal(service.tokens, 2);
    service.onBatch = (...batch) => (batch[2] === "Bearer token-2" ? refuse : accept)(...batch);
    assert.equal((await send()).code, 0);
    assert.equal(service.tokens, 3);
    assert.equal((await send()).code, 0);
    assert.equal(service.tokens, 3);
    await writeFile(await tokenFile(), "{");
    assert.equal((await send()).code, 0);
    assert.equal(service.tokens, 4);
  });

  test("is printed by `bellhop token`, alone or as a header, and requested only if there is none", async () => {
    const printed = await run(["token"]);
    assert.deepEqual([printed.code, printed.out], [0, "token-1\n"], printed.err);
    assert.equal((await send()).code, 0);
    assert.equal((await run(["token", "--header"])).out, "Authorization: Bearer token-1\n");
    assert.equal(service.tokens, 1);
    const usage = await run(["token", "--scope", "read"]);
    assert.equal(usage.code, 2);
    assert.match(usage.err, /--scope and --for need a CLIENT_ID/);
  });

  test("is requested once by commands that start together", async () => {
    const file = await fileOf("together.ndjson");
    const sent = await Promise.all([1, 2, 3, 4].map(() => run(["send", file, "--no-wait"])));
    assert.deepEqual(
      sent.map(({ code }) => code),
      [0, 0, 0, 0],
    );
    assert.equal(service.tokens, 1);
  });

  test("is not stored if the file cannot be written", async () => {
    await writeFile(inDirectory("no-folder"), "");
    const none = { XDG_CACHE_HOME: inDirectory("no-folder") };
    assert.equal((await send(none)).code, 0);
    assert.equal((await send(none)).code, 0);
    assert.equal(service.tokens, 2);
  });
});

describe("a command that waits", () => {
  test("reports how long the service asked to wait and why, and prints only JSON on standard output", async () => {
    let asked = 0;
    service.onBatch = (request, response, token) => {
      asked += 1;
      if (asked > 1) accept(request, response, token);
      else {
        response.writeHead(503, { "retry-after": "2", "content-type": "application/json" });
        response.end('{"message":"The service is starting."}');
      }
    };
    const { code, out, err } = await run(["send", await fileOf("a.ndjson"), "--no-wait", "--json"]);
    assert.equal(code, 0, err);
    assert.match(err, /^bellhop send: .*waiting( \d s)?: The service is starting\.$/m);
    assert.equal(JSON.parse(out).complete, true);
  });

  test("reports what it cannot reach, and when it gives up", async () => {
    const child = start(["watch", REQUEST_ID, "--url", "http://127.0.0.1:1"]);
    let said = "";
    child.stderr?.on("data", (bytes) => {
      said += bytes;
    });
    const answer = ended(child);
    await until(async () => said.includes("\n"), 60_000);
    child.kill("SIGINT");
    assert.equal((await answer).code, 130);
    assert.match(
      said,
      /^bellhop watch: waiting.*: http:\/\/127\.0\.0\.1:1 cannot be reached.* Gives up in \d+ s\.$/m,
    );
  });

  test("reports which address does not respond", async () => {
    const args = ["watch", REQUEST_ID, "--json", "--for", "1m"];
    service.onBatch = () => undefined;
    const child = start(args);
    const answer = ended(child);
    const [line] = (await once(child.stderr as NodeJS.ReadableStream, "data")) as [Buffer];
    assert.match(
      line.toString(),
      /^bellhop watch: waiting until the request is applied, at most 60 s {2}\d+ s\n/,
    );
    child.kill("SIGINT");
    assert.equal((await answer).out, "");
  });
});

describe("a long send", () => {
  test("writes a line about every few seconds where there is no terminal", async () => {
    const args = ["send", await fileOf("a.ndjson", 6), "--no-wait", "--batch", "2"];
    const { code, out, err } = await runUntilLine(args, /(.*waiting for an answer of .* s\n){2}/);
    assert.equal(code, 0, err);
    assert.match(err, /^bellhop send: .*\n(bellhop send: .*\n)+$/);
    assert.ok(!err.includes("\r"));
    assert.match(out, /6 accepted in 3 batches/);
  });

  test("of several files and patterns reports each and all", async () => {
    for (const name of ["a.ndjson", "b.ndjson", "c.ndjson"]) await fileOf(name);
    const { code, out, err } = await run(["send", "[bc].ndjson", "a.ndjson", "--no-wait"]);
    assert.equal(code, 0, err);
    // Indented lines name the requests of a file.
    const lines = out.split("\n").filter((line) => /^\S/.test(line));
    assert.deepEqual(
      lines.map((line) => /^(\w\.ndjson: 2 reservations|3 of 3 files: 6 accepted)/.exec(line)?.[1]),
      [
        "b.ndjson: 2 reservations",
        "c.ndjson: 2 reservations",
        "a.ndjson: 2 reservations",
        "3 of 3 files: 6 accepted",
      ],
    );
    const none = await run(["send", "nothing-*.ndjson"]);
    assert.equal(none.code, 2);
    assert.match(none.err, /No file matches nothing-\*\.ndjson\./);
  });

  test("that stops at one of several files, run again sends all of them, and leaves nothing beside them", async () => {
    const good = await fileOf("a.ndjson");
    const bad = inDirectory("bad.csv");
    await writeFile(bad, "a,b\n");
    const last = await fileOf("z.ndjson");
    const names = [good, bad, last];
    const { code, out } = await run(["send", ...names, "--resource", "reservations", "--no-wait", "--json"]);
    assert.equal(code, 1, out);
    let batches = 0;
    service.onBatch = (...batch) => {
      batches += 1;
      accept(...batch);
    };
    await writeFile(bad, `${JSON.stringify(reservationRecord({ reservationId: "was-bad" }))}\n`);
    const again = await run(["send", ...names, "--no-wait", "--json"]);
    assert.equal(again.code, 0, again.err);
    const { complete, accepted, remaining } = JSON.parse(again.out);
    assert.deepEqual([complete, accepted, remaining], [true, 5, []]);
    assert.equal(batches, 3);
    assert.deepEqual((await readdir(directory)).sort(), ["a.ndjson", "bad.csv", "cache", "z.ndjson"]);
  });
});

describe("without credentials", () => {
  const none = { BELLHOP_CLIENT_ID: "", BELLHOP_CLIENT_SECRET: "" };

  test("the sandbox client is used for loopback URLs, and for no others", async () => {
    const sandbox = { clientId: "sandbox", clientSecret: "s" };
    await mkdir(directory, { recursive: true });
    await writeFile(inDirectory("sandbox-client.json"), JSON.stringify(sandbox));
    assert.equal((await send(none)).code, 0);
    for (const elsewhere of [
      { BELLHOP_URL: "https://bellhop.example" },
      { BELLHOP_AUTH_URL: "https://auth.example" },
      { BELLHOP_URL: "http://127.0.0.1.example" },
    ]) {
      const { code, err } = await send({ ...none, ...elsewhere });
      assert.equal(code, 2);
      assert.match(err, /No credentials\. Set BELLHOP_CLIENT_ID and BELLHOP_CLIENT_SECRET\. \(The sandbox/);
    }
  });

  test("and without a sandbox client, the message names the folder that has none", async () => {
    const { code, err } = await send(none);
    assert.equal(code, 2);
    assert.match(err, /No credentials\..*has no sandbox client/);
  });
});
