import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { reservationRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

let service: TestService;
let directory: string;
const inDirectory = (name: string) => join(directory, name);
before(async () => {
  service = await startTestService();
  directory = await mkdtemp(join(tmpdir(), "bellhop-send-"));
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(args: readonly string[], as: TestClient = service.client): ChildProcess {
  const environment = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    DATA_DIR: directory,
    XDG_CACHE_HOME: inDirectory("cache"),
    BELLHOP_URL: service.address,
    BELLHOP_CLIENT_ID: as.clientId,
    BELLHOP_CLIENT_SECRET: as.clientSecret,
  };
  return spawn(process.execPath, [MAIN, ...args], { env: environment, stdio: ["pipe", "pipe", "pipe"] });
}

async function ended(child: ChildProcess, input?: string | Buffer): Promise<Ended> {
  child.stdin?.on("error", () => undefined).end(input ?? "");
  const [out, err, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

const run = (args: readonly string[], input?: string | Buffer) => ended(start(args), input);

function reservations(propertyCode: string, count: number): object[] {
  return Array.from({ length: count }, (_, at) =>
    reservationRecord({ propertyCode, reservationId: `R-${at}` }),
  );
}

const asLines = (records: readonly object[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");

/** How many versions of records a property has: one each where nothing came twice as something new. */
async function keysOf(propertyCode: string): Promise<number> {
  const query = `clientCode=ACME&propertyCode=${propertyCode}&limit=1000`;
  const answer = await service.get(`/api/public/v1/reservations?${query}`);
  return (answer.json() as unknown as { items: unknown[] }).items.length;
}

async function batchesOf({ clientId }: TestClient): Promise<number> {
  const query = "select count(*)::int as batches from bellhop.accept_log where client_id = $1";
  const { rows } = await service.pool.query<{ batches: number }>(query, [clientId]);
  return rows[0]?.batches ?? 0;
}

describe("bellhop send", () => {
  test("sends a file of records as gzip, and reports their outcomes", async () => {
    const file = inDirectory("stays.ndjson.gz");
    await writeFile(file, gzipSync(asLines(reservations("GZIP", 700))));
    const { code, out, err } = await run(["send", file, "--batch", "100"]);
    assert.equal(code, 0, err);
    assert.match(out, /^.*stays\.ndjson\.gz: 700 reservations, 700 accepted in 7 batches, 0 rejected, /);
    assert.match(out, /\n {2}applied 700\n/);
    // No terminal, no line that is redrawn.
    assert.ok(!err.includes("\r"), err);
    assert.equal(await keysOf("GZIP"), 700);
  });

  test("sends an array from standard input verbatim, except invalid records", async () => {
    const [first, second, third] = reservations("STDIN", 3).map((record) => JSON.stringify(record));
    const exact = first?.replace('"status"', '"own":1.10,"status"');
    const input = `[${exact}, ${second?.replace("2026-03-12", "2026-02-30")},\n${third}]`;
    const rejected = inDirectory("rejected.ndjson");
    const { code, out, err } = await run(["send", "-", "--json", "--rejected", rejected], input);
    assert.equal(code, 3, err);
    const report = JSON.parse(out);
    assert.equal(report.records, 3);
    assert.equal(report.accepted, 2);
    assert.equal(report.rejected, 1);
    assert.equal(report.outcomes.applied, 2);
    const [refused] = report.refused;
    assert.equal(refused.index, 1);
    assert.equal(refused.violations[0].pointer, "/roomStays/0/departureDate");
    const [line = ""] = (await readFile(rejected, "utf8")).split("\n");
    assert.equal(JSON.parse(line).index, 1);
    const read = await service.get(
      "/api/public/v1/reservations?clientCode=ACME&propertyCode=STDIN&reservationId=R-0",
    );
    assert.ok(read.text.includes('"own":1.10'), read.text);
  });

  test("lenient, each record is accepted or rejected, and invalid JSON is reported by its place in the file", async () => {
    const [first, second, bad, other, good] = [
      ...reservations("LENIENT", 2),
      reservationRecord({ propertyCode: "LENIENT", reservationId: "R-7", status: "" }),
      reservationRecord({ clientCode: "OTHER", propertyCode: "LENIENT" }),
      reservationRecord({ propertyCode: "LENIENT", reservationId: "R-8" }),
    ].map((record) => JSON.stringify(record));
    const input = `${first}\n${second}\n${bad}\n${other}\n${good}\n{"a":01}\n`;
    const args = ["send", "-", "--resource", "reservations", "--lenient", "--batch", "3"];
    const { code, out } = await run(args, input);
    assert.equal(code, 3);
    assert.match(out, /^standard input: 6 reservations, 3 accepted in 2 batches, 3 rejected, /);
    assert.match(out, /\n5 .* json\.syntax +LINE \d+: expected/);
    const json = JSON.parse((await run([...args, "--no-check", "--json"], input)).out);
    assert.deepEqual([json.records, json.accepted, json.rejected], [6, 3, 3]);
    const syntax = json.refused.find((one: { index: number }) => one.index === 5);
    assert.match(syntax.message, /^LINE 6: .* \(byte 6 of the record\)$/);
    assert.equal(syntax.violations[0].message, syntax.message);
  });

  test("names a record that is too deep or too large by its place in the file, as validate does", async () => {
    const deep = `{"a":${"[".repeat(17)}${"]".repeat(17)}}`;
    const large = `{"a":[${"0,".repeat(250_000)}0]}`;
    const input = `${asLines(reservations("LARGE", 2))}${deep}\n${large}\n`;
    const place = ["--resource", "reservations", "--json"];
    const sent = JSON.parse((await run(["send", "-", ...place, "--lenient"], input)).out);
    const checked = JSON.parse((await run(["validate", "-", ...place], input)).out);
    const said = (found: { code: string; message: string }[]) =>
      found.map(({ code, message }) => `${code}: ${message}`).sort();
    assert.deepEqual(said(sent.refused), said(checked.violations));
    const [depth = "", values = ""] = said(sent.refused);
    assert.match(depth, /^json\.depth: .* at record 2, byte \d+ of it, /);
    assert.match(values, /^json\.values: Record 3 exceeds the limit of 250,000 values for one record\./);
  });

  test("lists records with warnings and the ids of its requests", async () => {
    const [record] = reservations("WARNED", 1);
    const input = asLines([record ?? {}, { ...record, reservationId: "R-2", shareID: "S" }]);
    const { code, out } = await run(["send", "-"], input);
    assert.equal(code, 0);
    assert.match(out, /^standard input: 2 reservations, 2 accepted in 1 batch, /);
    assert.match(out, /\n {2}requests [0-9a-f-]{36}\n/);
    assert.match(out, /^1 +\/shareID +field\.similar +"shareID" is no field.*did you mean shareId\?/m);
    const again = JSON.parse((await run(["send", "-", "--json"], input)).out);
    assert.deepEqual(again.warned[0].index, 1);
    assert.equal(again.requestIds.length, 1);
    assert.equal(again.replayedBatches, 1);
    const repeated = await run(["send", "-"], input);
    assert.match(repeated.out, /, 2 accepted in 1 batch \(1 accepted before\), /);
  });

  test("resumes after a kill without duplicates or gaps", async () => {
    const slow = await service.newClient({ requestRate: 20, requestBurst: 10 });
    const file = inDirectory("killed.ndjson");
    await writeFile(file, asLines(reservations("KILLED", 400)));
    const args = ["send", file, "--batch", "10", "--json"];
    const killed = start(args, slow);
    await until(async () => (await batchesOf(slow)) >= 5, 60_000);
    killed.kill("SIGKILL");
    await once(killed, "close");
    assert.ok((await batchesOf(slow)) < 40);
    const again = await ended(start(args, slow));
    assert.equal(again.code, 0, again.err);
    const report = JSON.parse(again.out);
    assert.equal(report.accepted, 400);
    assert.equal(report.outcomes.applied, 400);
    assert.equal(report.outcomes.duplicate, 0);
    assert.equal(await keysOf("KILLED"), 400);
    assert.equal(await batchesOf(slow), 40);
  });

  test("reports its progress when stopped by a signal", async () => {
    const slow = await service.newClient({ requestRate: 5, requestBurst: 2 });
    const file = inDirectory("stopped.json");
    await writeFile(file, JSON.stringify(reservations("STOPPED", 60)));
    const args = ["send", file, "--batch", "2", "--no-wait"];
    const child = start(args, slow);
    await until(async () => (await batchesOf(slow)) > 2, 60_000);
    child.kill("SIGINT");
    const { code, out } = await ended(child);
    assert.equal(code, 130);
    assert.match(out, /Incomplete: Stopped by SIGINT\. Run the same command again to resume\./);
  });

  test("reports what is impossible", async () => {
    const odd = inDirectory("odd.json");
    await writeFile(odd, '[{"neither":1}]');
    const empty = inDirectory("empty.json");
    await writeFile(empty, " [\n]\n");
    const csv = inDirectory("odd.txt");
    await writeFile(csv, "a,b\n1,2\n");
    const wrong: [args: string[], code: number, said: RegExp][] = [
      [["send"], 2, /FILE is missing\. See bellhop send --help\./],
      [["send", inDirectory("none.json")], 2, /File .* does not exist/],
      [["send", odd], 2, /does not identify its resource\. Set --resource/],
      [
        ["send", csv],
        1,
        /odd\.txt cannot be read: it is not JSON\. Send a JSON array, or one JSON record per line/,
      ],
      [["send", empty], 1, /empty\.json has no records: the service refuses an empty batch\./],
      [["send", odd, "--url", "foo"], 2, /--url "foo" is not an http or https address\./],
      [["send", odd, "--batch", "0"], 2, /--batch must be a whole number from 1 to 10,000, not "0"\./],
      [
        ["send", odd, "--resource", "groups", "--no-check", "--url", `${service.address}/api`],
        1,
        /Nothing was sent: .*\/api is not the address of a Bellhop service \(404\)\. Give the address without \/api: http:\/\/[^/]*\n/,
      ],
      [
        ["send", odd, "--resource", "groups", "--client-id", "nobody", "--client-secret", "wrong"],
        1,
        /Nothing was sent: the service at \S+ refused the client id or secret\. Correct BELLHOP_CLIENT_ID/,
      ],
      [["send", odd, "--resource", "rooms"], 2, /--resource must be inventories, reservations or groups/],
      [["send", odd, "--url", "ftp://x"], 2, /--url "ftp:\/\/x" is not an http or https address/],
      [
        ["send", odd, "--resource", "groups", "--client-secret", "wrong"],
        1,
        /Nothing was sent: the service at \S+ refused the client id or secret/,
      ],
    ];
    const answers = await Promise.all(wrong.map(([args]) => run(args)));
    for (const [at, [args, code, said]] of wrong.entries()) {
      const answer = answers[at];
      assert.match(`${answer?.out}${answer?.err}`, said, args.join(" "));
      assert.equal(answer?.code, code, args.join(" "));
      assert.doesNotMatch(`${answer?.out}`, /Run the same command again/);
    }
  });
});

describe("bellhop simulate", () => {
  test("reports what was sent when stopped by a signal, without a stack trace", async () => {
    const scopes = ["inventories:write", "reservations:write", "groups:write", "read"];
    const hotels = await service.newClient({ scopes, grants: [{ clientCode: "SIM", propertyCode: "*" }] });
    // A day takes a minute at this speed, so it is stopped while it waits.
    const of = "--client SIM --properties 1 --days 5 --horizon 5 --speed 1440".split(" ");
    const { clientId, clientSecret } = hotels;
    const identity = ["--url", service.address, "--client-id", clientId, "--client-secret", clientSecret];
    const child = start(["simulate", ...identity, ...of], hotels);
    const accepted = async (): Promise<number> => {
      const query =
        "select coalesce(sum(record_count), 0)::int as n from bellhop.accept_log where client_id = $1";
      const { rows } = await service.pool.query<{ n: number }>(query, [clientId]);
      return rows[0]?.n ?? 0;
    };
    const answers = ended(child);
    await until(async () => (await accepted()) > 0, 60_000);
    child.kill("SIGINT");
    const { code, out, err } = await answers;
    assert.equal(code, 130, err);
    assert.match(err, /^bellhop: Stopped by SIGINT\. \d of 6 days were sent completely .*\n$/m);
    assert.ok(!err.includes("    at "), err);
    const reported = /\n {2}accepted +([\d,]+) in /.exec(out)?.[1]?.replaceAll(",", "");
    assert.equal(Number(reported), await accepted());
  });
});

describe("bellhop validate", () => {
  test("finds what the service finds: the same codes, messages and pointers", async () => {
    const all = reservations("OFFLINE", 6) as Record<string, unknown>[];
    all[1] = { ...all[1], status: 7, lastModifiedDateTime: "yesterday" };
    all[3] = { ...all[3], roomStays: [{ arrivalDate: "2026-05-03", departureDate: "2026-05-01" }] };
    all[4] = { ...all[4], numberOfRooms: "1.5", shareId: null };
    const body = JSON.stringify(all).replace(
      '"reservationId":"R-5"',
      '"reservationId":"R-5","reservationId":"R-6"',
    );
    const { code, out, err } = await run(["validate", "-", "--json"], body);
    assert.equal(code, 3, err);
    const refused = (await service.post("reservations", body)).json();
    const offline = JSON.parse(out);
    assert.deepEqual(
      offline.violations.map(({ line, ...violation }: { line: number }) => {
        assert.equal(line, 1);
        return violation;
      }),
      refused["violations"],
    );
    assert.equal(offline.violationTotal, refused["violationTotal"]);
    assert.equal(offline.invalid, 4);
    assert.equal(offline.records, 6);
  });

  test("continues after a record that is not JSON, and reports its place", async () => {
    const [first, second] = reservations("OFFLINE", 2).map((record) => JSON.stringify(record));
    const { code, out } = await run(
      ["validate", "-"],
      `${first}\n{"a":01}\n{nope\n${second}\n{"groupCode":"G"}\n`,
    );
    assert.equal(code, 3);
    assert.match(
      out,
      /^line 2 {2}\/1 {2}json\.syntax {2}LINE 2: expected a number as JSON writes it .* \(byte 6 of the record\)/,
    );
    assert.match(
      out,
      /\nline 3 {2}\/2 {2}json\.syntax {2}LINE 3: the JSON ends too early \(byte 5 of the record\)/,
    );
    assert.match(out, /\nline 5 {2}\/4\/reservationId {2}required /);
    assert.match(out, /\n5 reservations: 3 invalid, \d+ violations\n$/);
  });

  test("says why a file is not JSON, and on which line", async () => {
    const [first, second] = reservations("OFFLINE", 2).map((record) => JSON.stringify(record));
    const pretty = JSON.stringify(reservations("OFFLINE", 1)[0], null, 2);
    const several = JSON.stringify(reservations("OFFLINE", 2), null, 2).replace(
      /"status": "\w+"/,
      '"status": NaN',
    );
    const wrong: [input: string | Buffer, code: number, said: RegExp][] = [
      [`${first}\n${second},\n`, 3, /LINE 2: the record is followed by a comma, which NDJSON does not have/],
      [`${first},\n${second}\n`, 1, /LINE 1: the record is followed by a comma/],
      [
        `${first}\n${first}, ${second}\n`,
        3,
        /LINE 2: more than one record on a line: give each a line of its own/,
      ],
      [
        pretty,
        1,
        /LINE 1: the JSON ends too early \(byte 1 of the record\): one record per line \(NDJSON\), or put the records into/,
      ],
      [several, 1, /LINE \d+: expected a value: .* number, true, false or null \(byte \d+ of the record\)/],
      [`${first}\n{'reservationId':'R'}\n`, 3, /LINE 2: expected a field name in double quotes \(byte 1/],
      [`${first}\n${second?.slice(0, 40)}\n`, 3, /LINE 2: the JSON ends too early \(byte 40 of the record\)/],
      [
        Buffer.from(`[${first}]`, "utf16le"),
        1,
        /Standard input cannot be read: it is UTF-16 or UTF-32\. Save it as UTF-8/,
      ],
      ["[]", 1, /Standard input has no records: the service refuses an empty batch/],
      [`[${first},\n\n]`, 1, /Standard input cannot be read: on line 3, at byte \d+, a record was expected/],
    ];
    const answers = await Promise.all(wrong.map(([input]) => run(["validate", "-"], input)));
    for (const [at, [input, code, said]] of wrong.entries()) {
      const { out = "", err = "", code: ended } = answers[at] ?? {};
      assert.match(`${out}${err}`, said, String(input).slice(0, 60));
      assert.doesNotMatch(`${out}${err}`, /batch has more than|does not identify its resource/);
      assert.equal(ended, code, String(said));
    }
    const marked = await run(["validate", "-"], `\ufeff[${first}]`);
    assert.equal(marked.code, 0, marked.out);
  });

  test("lists the warnings that a record has on its own", async () => {
    const [record] = reservations("OFFLINE", 1);
    const input = asLines([
      record ?? {},
      { ...record, numberofRooms: 5, lastModifiedDateTime: "1970-01-01T00:00:00Z" },
    ]);
    const { code, out } = await run(["validate", "-"], input);
    assert.equal(code, 0);
    assert.match(
      out,
      /^line 2 {2}\/1\/numberofRooms {2}field\.similar {2}"numberofRooms" is no field .*did you mean numberOfRooms\?$/m,
    );
    assert.match(out, /^line 2 {2}\/1\/lastModifiedDateTime {2}time\.implausible /m);
    assert.match(out, /\n2 reservations: all valid, 2 warnings\n$/);
  });
});

/** As `… | head -0` would: nobody reads what it writes. The state is not moved beyond what was read. */
async function assertEndsWithItsReader(args: readonly string[]): Promise<void> {
  const child = start(args);
  child.stdout?.destroy();
  const [err, [code]] = await Promise.all([
    text(child.stderr as NodeJS.ReadableStream),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  assert.equal(code, 141);
  assert.ok(!err.includes("    at "), err);
}

describe("bellhop watch", () => {
  test("waits until a request is applied, and prints its outcomes", async () => {
    const sent = await service.post("reservations", [
      ...reservations("WATCH", 2),
      reservationRecord({
        propertyCode: "WATCH",
        reservationId: "R-9",
        lastModifiedDateTime: "2999-01-01T00:00:00Z",
      }),
    ]);
    const { requestId } = sent.json() as { requestId: string };
    const { code, out, err } = await run(["watch", requestId]);
    assert.equal(code, 3, err);
    assert.match(out, /status {7}applied\n/);
    assert.match(out, /applied {6}2\n/);
    assert.match(out, /\/2 {7}quarantined {2}R-9 {2}time\.future/);
    const every = JSON.parse((await run(["watch", requestId, "--all", "--json"])).out) as {
      records: { key: string; outcome: string }[];
    };
    assert.deepEqual(
      every.records.map(({ key, outcome }) => [key, outcome]),
      [
        ["R-0", "applied"],
        ["R-1", "applied"],
        ["R-9", "quarantined"],
      ],
    );
    const unknown = await run(["watch", "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11"]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /This client has no request with this id/);
    assert.equal((await run(["watch"])).code, 2);
  });

  test("follows the change feed, and resumes where it stopped", async () => {
    const state = inDirectory("cursor");
    const args = ["watch", "--changes", "--until-caught-up", "--state", state];
    const property = ["--client", "ACME", "--property", "FOLLOW"];
    for (const expected of [["R-0", "R-1"], []]) {
      if (expected.length > 0) {
        const sent = await service.post("reservations", reservations("FOLLOW", 2));
        await run(["watch", (sent.json() as { requestId: string }).requestId]);
      }
      if (expected.length > 0) await assertEndsWithItsReader([...args, ...property]);
      const { code, out, err } = await run([...args, ...property]);
      assert.equal(code, 0, err);
      const lines = out.split("\n").filter((line) => line !== "");
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { key: string }).key),
        expected,
      );
    }
  });
});
