import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { addDays } from "#contract/dates.ts";
import { replay } from "../../src/apply/replay.ts";
import { requireBackfill } from "../../src/backfill/backfill.ts";
import {
  abandonBackfill,
  BackfillRefusal,
  closeBackfill,
  countersignBackfill,
  isReproduced,
} from "../../src/backfill/close-backfill.ts";
import { readFailedRecords } from "../../src/backfill/gaps.ts";
import { tallyOf, UP_TO_NOW } from "../../src/backfill/tally.ts";
import { updateClient } from "../../src/identity/client-admin.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { findProperty } from "../../src/query/property.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { runRetention } from "../../src/retention/run-retention.ts";
import {
  appliedOf,
  asBackfill,
  BACKFILLS,
  close,
  gapsOf,
  open,
  post,
  progress,
} from "../support/backfill-fixture.ts";
import { logInAsNew } from "../support/console-session.ts";
import {
  accept,
  apply,
  inventory,
  readRequest,
  reservation,
  resolveQuarantined,
  untilApplied,
} from "../support/read-fixture.ts";
import { groupRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { watchedPool } from "../support/watched-pool.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const T1 = "2026-01-01T00:00:00Z";
const T2 = "2026-01-02T00:00:00Z";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const bellhop = (...args: string[]) => bellhopOf(service, ...args);

async function bellhopOf({ database }: TestService, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, "backfill", ...args], {
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, out, err };
}

const days = (from: string, count: number) => Array.from({ length: count }, (_, day) => addDays(from, day));

describe("a cold start of two years", () => {
  const propertyCode = "COLD";
  const FROM = "2024-07-01";
  const TO = "2026-06-30";
  const LOST = ["2025-02-28", "2025-12-30", "2025-12-31"];
  const nights = days(FROM, 730).map((night) => inventory(night, T1, { propertyCode }));
  const stays = Array.from({ length: 60 }, (_, n) => reservation(`R${n}`, T1, { propertyCode }));
  let backfillId: string;
  let headers: Record<string, string>;
  let statement: string;

  before(async () => {
    backfillId = await open(service, propertyCode, [
      { resource: "reservations", from: FROM, to: TO, expectedRecords: "62" },
      { resource: "inventories", from: FROM, to: TO, expectedRecords: 730 },
    ]);
    headers = { "backfill-id": backfillId };
  });

  test("before anything was sent, everything is missing", async () => {
    const { state, resources } = await progress(service, backfillId);
    assert.equal(state, "open");
    assert.deepEqual(
      resources.map(({ resource, missingRecords, datesNamed, datesCovered }) => [
        resource,
        missingRecords,
        datesNamed,
        datesCovered,
      ]),
      [
        ["inventories", 730, 730, 0],
        ["reservations", 62, null, null],
      ],
    );
    const gaps = await gapsOf(service, backfillId, 400);
    assert.equal(gaps.length, 1 + 730 + 1);
  });

  test("each record counts once, however often and in whatever way it was sent", async () => {
    const sent = nights.filter(({ occupancyDate }) => !LOST.includes(occupancyDate));
    const key = { ...headers, "idempotency-key": "cold-1" };
    // While it waits to be applied the next batch would be put off.
    const first = await apply(service, "inventories", sent, { headers: key });
    assert.equal(await accept(service, "inventories", sent, { headers: key }), first);
    // The same again without a key, and some of it newer; a part of the reservations had come live before.
    await accept(service, "inventories", sent.slice(0, 100), { headers });
    await accept(service, "inventories", [inventory(FROM, T2, { propertyCode })], { headers });
    await apply(service, "reservations", stays.slice(0, 20));
    await accept(service, "reservations", stays.slice(10), { headers });
    await accept(service, "reservations", stays.slice(0, 15), { headers });
    const ofNights = await appliedOf(service, backfillId, "inventories");
    assert.deepEqual([ofNights.batches, ofNights.counts["records"]], [3, 828]);
    assert.deepEqual([ofNights.counts["applied"], ofNights.counts["unchanged"]], [727, 1]);
    assert.equal(ofNights.counts["duplicate"], 100);
    assert.deepEqual([ofNights.distinctRecords, ofNights.missingRecords], [727, 3]);
    assert.deepEqual([ofNights.datesNamed, ofNights.datesCovered], [730, 727]);
    const ofStays = await appliedOf(service, backfillId, "reservations");
    assert.deepEqual([ofStays.counts["applied"], ofStays.counts["duplicate"]], [40, 25]);
    assert.deepEqual([ofStays.distinctRecords, ofStays.missingRecords], [60, 2]);
    assert.equal(
      ((await readRequest(service, first)) as unknown as { backfillId: string }).backfillId,
      backfillId,
    );
  });

  test("a rejected or quarantined record is a gap until a later record of its key is applied", async () => {
    const lenient = { ...headers, prefer: "handling=lenient" };
    const broken = { ...reservation("R60", T1, { propertyCode }), roomStays: "none" };
    const future = reservation("R61", new Date(Date.now() + 3_600_000).toISOString(), { propertyCode });
    const requestId = await accept(service, "reservations", [stays[0], broken, future], { headers: lenient });
    await untilApplied(service, requestId);
    const failed = async () =>
      (await gapsOf(service, backfillId, 2)).filter(({ kind }) => kind === "record-failed");
    assert.deepEqual(
      (await failed()).map(({ index, key, outcome, code, mended }) => [index, key, outcome, code, mended]),
      [
        [1, "R60", "rejected", "type", false],
        [2, "R61", "quarantined", "time.future", false],
      ],
    );
    await accept(service, "reservations", [reservation("R60", T1, { propertyCode })], { headers });
    await appliedOf(service, backfillId, "reservations");
    assert.deepEqual(
      (await failed()).map(({ key, mended }) => [key, mended]),
      [
        ["R60", true],
        ["R61", false],
      ],
    );
  });

  test("the list of gaps is exact, page by page", async () => {
    const byOne = await gapsOf(service, backfillId, 1);
    assert.deepEqual(byOne, await gapsOf(service, backfillId, 1_000));
    assert.deepEqual(byOne.slice(0, 5), [
      { kind: "records-short", resource: "inventories", expected: 730, distinct: 727, missing: 3 },
      ...LOST.map((date) => ({ kind: "date-missing", resource: "inventories", date })),
      { kind: "records-short", resource: "reservations", expected: 62, distinct: 61, missing: 1 },
    ]);
    assert.equal(byOne.length, 7);
  });

  test("with gaps it is not closed, and the refusal names them", async () => {
    const answer = await close(service, backfillId);
    assert.equal(answer.status, 409, answer.text);
    assert.equal(answer.json()["exception"], "bellhop.backfill.HasGaps");
    const message = String(answer.json()["message"]);
    assert.match(message, /inventories: 3 records fewer than expected, 3 dates without a record/);
    assert.match(
      message,
      /reservations: 1 record fewer than expected, 1 record rejected, quarantined or discarded/,
    );
    assert.equal((await progress(service, backfillId)).state, "open");
  });

  test("closed with acceptGaps, the statement records the gaps, and closing again returns it", async () => {
    const closed = asBackfill(await close(service, backfillId, { acceptGaps: true }));
    assert.equal(closed.state, "closed");
    statement = (await service.get(`${BACKFILLS}/${backfillId}/statement`)).text;
    assert.equal(closed.statementHash, createHash("sha256").update(statement).digest("hex"));
    assert.deepEqual(
      closed.signatures.map(({ side, signedBy }) => [side, signedBy]),
      [["partner", `client:${service.client.clientId}`]],
    );
    const said = JSON.parse(statement) as {
      complete: boolean;
      gapsAccepted: boolean;
      resources: { missingDates: object[]; openRecords: number }[];
    };
    assert.deepEqual([said.complete, said.gapsAccepted], [false, true]);
    assert.deepEqual(said.resources[0]?.missingDates, [
      { from: "2025-02-28", to: "2025-02-28" },
      { from: "2025-12-30", to: "2025-12-31" },
    ]);
    assert.equal(said.resources[1]?.openRecords, 1);
    assert.deepEqual(asBackfill(await close(service, backfillId)), closed);
  });

  test("no more batches are accepted, and live batches do not change the statement", async () => {
    const late = await service.post("inventories", [nights[0]], { headers });
    // A thread may know it as open for a second: then the batch is taken, and reported as late.
    if (late.status !== 202)
      assert.deepEqual([late.status, late.json()["exception"]], [409, "bellhop.backfill.NotOpen"]);
    await until(
      async () => (await service.post("inventories", [nights[0]], { headers })).status === 409,
      60_000,
    );
    await apply(
      service,
      "inventories",
      LOST.map((night) => inventory(night, T1, { propertyCode })),
    );
    await apply(service, "reservations", [reservation("R61", T1, { propertyCode })]);
    const reported = await progress(service, backfillId);
    assert.deepEqual(
      [reported.resources[0]?.datesCovered, reported.resources[1]?.distinctRecords],
      [727, 61],
    );
    assert.equal(reported.lateBatches >= (late.status === 202 ? 1 : 0), true);
  });

  test("after a replay the log reproduces the statement, and the operator can sign only that", async () => {
    const { clientConfig, pool } = service.database;
    await replay({ clientConfig, pool, swap: true });
    const shown = await bellhop("show", backfillId, "--json");
    assert.equal(shown.code, 0, shown.err);
    const reported = JSON.parse(shown.out) as {
      reproduced: boolean;
      statement: object;
      statementHash: string;
    };
    assert.equal(reported.reproduced, true);
    assert.equal(JSON.stringify(reported.statement), statement);
    const other = await bellhop("sign", backfillId, "--hash", "0".repeat(64));
    assert.deepEqual([other.code, /The hash of the statement is/.test(other.err)], [1, true]);
    const signed = await bellhop("sign", backfillId, "--hash", reported.statementHash, "--json");
    assert.equal(signed.code, 0, signed.err);
    const { signatures } = await progress(service, backfillId);
    assert.deepEqual(
      signatures.map(({ side }) => side),
      ["partner", "operator"],
    );
    const { rows } = await service.pool.query(
      "select what from bellhop.audit_entry where what like '%backfill' order by audit_id",
    );
    assert.deepEqual(
      rows.map(({ what }) => what),
      ["open-backfill", "close-backfill", "sign-backfill"],
    );
  });

  test("a changed statement is reported, and cannot be signed", async () => {
    await service.pool.query("delete from bellhop.backfill_signature where side = 'operator'");
    await service.pool.query(
      "update bellhop.backfill set statement = replace(statement, '\"openRecords\":1', '\"openRecords\":0') where backfill_id = $1",
      [backfillId],
    );
    const shown = await bellhop("show", backfillId);
    assert.deepEqual([shown.code, /reproduced +NO/.test(shown.out)], [1, true]);
    const { statementHash } = await progress(service, backfillId);
    assert.match(
      (await bellhop("sign", backfillId, "--hash", statementHash ?? "")).err,
      /does not reproduce the closing statement/,
    );
  });
});

describe("a batch that its backfill does not include", () => {
  const range = { from: "2026-01-01", to: "2026-01-31" };
  const stay = (id: string, propertyCode: string) => reservation(id, T1, { propertyCode });

  async function refused(body: object, headers: Record<string, string>, status: number, exception: string) {
    const answer = await service.post("reservations", body, { headers });
    assert.deepEqual(
      [answer.status, answer.json()["exception"]],
      [status, `bellhop.${exception}`],
      answer.text,
    );
  }

  test("is refused with the reason, and nothing of it is stored", async () => {
    const stored = async () =>
      Number((await service.pool.query("select count(*) as n from bellhop.accept_log")).rows[0].n);
    const other = await service.newClient();
    const [own, foreign, ofGroups] = [
      await open(service, "PLACE", [{ resource: "reservations", ...range }]),
      await open(service, "PLACE", [{ resource: "reservations", ...range }], { as: other }),
      await open(service, "PLACE", [{ resource: "groups", ...range }]),
    ];
    const beforehand = await stored();
    const one = [stay("P1", "PLACE")];
    const unknown = "00000000-0000-4000-8000-000000000000";
    await refused(one, { "backfill-id": unknown }, 422, "backfill.UnknownBackfill");
    await refused(one, { "backfill-id": foreign }, 422, "backfill.UnknownBackfill");
    await refused(one, { "backfill-id": ofGroups }, 422, "backfill.NotInManifest");
    await refused(one, { "backfill-id": "mine" }, 422, "http.InvalidHeader");
    const mixed = [stay("P1", "PLACE"), stay("P2", "ELSEWHERE")];
    await refused(mixed, { "backfill-id": own }, 422, "backfill.NotInManifest");
    assert.equal(await stored(), beforehand);
    // Its case is no matter, and it is one of the things that an Idempotency-Key stands for.
    const key = { "idempotency-key": "place-1" };
    await apply(service, "reservations", one, { headers: { ...key, "backfill-id": own.toUpperCase() } });
    await refused(one, key, 422, "accept.IdempotencyKeyReused");
    const keyed = { ...key, "backfill-id": own };
    const { text: first } = await service.post("reservations", one, { headers: keyed });
    await bellhop("abandon", own, "--why", "opened by mistake");
    await until(
      async () =>
        (await service.post("reservations", one, { headers: { "backfill-id": own } })).status === 409,
      60_000,
    );
    // Its client may not know that the batch was accepted.
    const again = await service.post("reservations", one, { headers: keyed });
    assert.deepEqual([again.status, again.text], [202, first]);
    await refused([stay("P3", "PLACE")], keyed, 409, "backfill.NotOpen");
    await refused(one, { ...keyed, "idempotency-key": "place-2" }, 409, "backfill.NotOpen");
    await refused(
      [stay("P3", "ELSEWHERE-ACME")],
      { ...keyed, prefer: "handling=lenient" },
      409,
      "backfill.NotOpen",
    );
    const answer = await post(service, `/${own}/close`);
    assert.deepEqual([answer.status, answer.json()["exception"]], [409, "bellhop.backfill.NotOpen"]);
  });

  test("its client can abandon an open one, once, and its records stay", async () => {
    const own = await open(service, "GIVEN-UP", [{ resource: "reservations", ...range }]);
    const requestId = await apply(service, "reservations", [stay("G1", "GIVEN-UP")], {
      headers: { "backfill-id": own },
    });
    const odd = await post(service, `/${own}/abandon`, { why: "x".repeat(501) });
    assert.deepEqual([odd.status, odd.json()["exception"]], [400, "bellhop.http.BadRequest"]);
    const stranger = await service.newClient({});
    assert.equal((await post(service, `/${own}/abandon`, undefined, { as: stranger })).status, 404);
    const ended = asBackfill(await post(service, `/${own}/abandon`, { why: "the wrong property" }));
    assert.equal(ended.state, "abandoned");
    assert.deepEqual(asBackfill(await post(service, `/${own}/abandon`)), ended);
    assert.equal((await readRequest(service, requestId)).status, "applied");
    const { rows } = await service.pool.query(
      "select who, detail ->> 'why' as why from bellhop.audit_entry where what = 'abandon-backfill' and detail ->> 'backfillId' = $1",
      [own],
    );
    assert.deepEqual(rows, [{ who: `client:${service.client.clientId}`, why: "the wrong property" }]);
    const closed = await open(service, "EMPTY", [{ resource: "groups", ...range }]);
    assert.equal((await close(service, closed, { acceptGaps: true })).status, 200);
    const refusal = await post(service, `/${closed}/abandon`);
    assert.deepEqual([refusal.status, refusal.json()["exception"]], [409, "bellhop.backfill.NotOpen"]);
  });

  test("a page of failed records reads no more requests than it needs, and pages go on in each", async () => {
    const { pool, client } = service;
    const own = await open(service, "FAILING", [{ resource: "reservations", ...range }]);
    const headers = { "backfill-id": own, prefer: "handling=lenient" };
    const bad = Array.from({ length: 4 }, (_, at) => ({ ...stay(`B${at}`, "FAILING"), status: 5 }));
    for (const id of ["F1", "F2", "F3"])
      await apply(service, "reservations", [stay(id, "FAILING"), ...bad], { headers });
    const whole = await gapsOf(service, own, 100);
    assert.equal(whole.filter(({ kind }) => kind === "record-failed").length, 12);
    for (const limit of [1, 3, 5]) assert.deepEqual(await gapsOf(service, own, limit), whole, `${limit}`);
    const asked: number[] = [];
    const counted = watchedPool(pool, ({ name, values = [] }) => {
      if (name?.startsWith("read-failed-records")) asked.push((values[1] as string[]).length);
    });
    const backfill = await requireBackfill(pool, own, client.clientId);
    const read = { records: 0, bytes: 0 };
    const countRead = (records: number, bytes: number) => {
      read.records += records;
      read.bytes += bytes;
    };
    const of = { backfill, propertyId: null, resource: "reservations", upTo: UP_TO_NOW, countRead } as const;
    assert.equal((await readFailedRecords(counted, of, null, 6)).length, 6);
    assert.deepEqual(asked, [2]);
    assert.deepEqual(read, { records: 6, bytes: 6 * JSON.stringify(bad[0]).length });
  });

  test("concurrent closing and abandoning: one takes effect, and both answer accordingly", async () => {
    const { pool, client } = service;
    const stale = () =>
      open(service, "RACE", [{ resource: "groups", ...range }]).then((id) =>
        requireBackfill(pool, id, client.clientId),
      );
    const one = await stale();
    const abandoned = await abandonBackfill(pool, one, "first", "client:one");
    assert.deepEqual(await abandonBackfill(pool, one, "second", "client:two"), abandoned);
    await assert.rejects(closeBackfill(pool, one, { acceptGaps: true }), {
      code: "bellhop.backfill.NotOpen",
    });
    const other = await stale();
    const closed = await closeBackfill(pool, other, { acceptGaps: true });
    assert.deepEqual(await closeBackfill(pool, other, { acceptGaps: true }), closed);
    await assert.rejects(abandonBackfill(pool, other, "late", "client:two"), BackfillRefusal);
  });

  test("a manifest is checked as records are, with pointers into it", async () => {
    const resource = { resource: "inventories", from: "2026-02-30", to: "2026-01-31", expectedRecords: 1.5 };
    const bad = await post(service, "", { clientCode: "ACME", resources: [resource] });
    assert.deepEqual([bad.status, bad.json()["exception"]], [400, "bellhop.backfill.InvalidManifest"]);
    const violations = (answer: { json(): Record<string, unknown> }) =>
      (answer.json()["violations"] as { pointer: string; code: string }[]).map(({ pointer, code }) => [
        pointer,
        code,
      ]);
    assert.deepEqual(violations(bad), [
      ["/propertyCode", "required"],
      ["/resources/0/from", "format.date"],
      ["/resources/0/expectedRecords", "number.integer"],
    ]);
    const twice = { resource: "groups", from: "2016-01-01", to: "2026-12-31", expectedRecords: -1 };
    const odd = await post(service, "", {
      clientCode: "ACME",
      propertyCode: "A\0",
      resources: [twice, twice],
    });
    assert.deepEqual(
      violations(odd).map(([pointer]) => pointer),
      [
        "/propertyCode",
        "/resources/0/to",
        "/resources/0/expectedRecords",
        "/resources/1/resource",
        "/resources/1/to",
        "/resources/1/expectedRecords",
      ],
    );
    assert.equal((await post(service, "", "{")).json()["exception"], "bellhop.backfill.InvalidManifest");
    for (const [body, fault] of [
      ["[]", "be an object; got array"],
      ["null", "not be null; send a value"],
    ] as const) {
      const { violations: found } = (await post(service, "", body)).json() as { violations: object[] };
      assert.partialDeepStrictEqual(found, [{ pointer: "", message: `the manifest must ${fault}` }]);
    }
  });

  test("a client without permission for the manifest's data cannot open it, and clients see only their own", async () => {
    const reader = await service.newClient({ scopes: ["read"] });
    const half = await service.newClient({ scopes: ["inventories:write"] });
    const manifest = (propertyCode: string, resource: string) => ({
      clientCode: "ACME",
      propertyCode,
      resources: [{ resource, ...range }],
    });
    for (const [as, body, reason] of [
      [
        reader,
        manifest("PLACE", "inventories"),
        'The token lacks the scope inventories:write or reservations:write or groups:write.", scope="inventories:write reservations:write groups:write',
      ],
      [half, manifest("PLACE", "groups"), 'The token lacks the scope groups:write.", scope="groups:write'],
      [
        service.client,
        { ...manifest("PLACE", "groups"), clientCode: "OTHER" },
        "The request names the property OTHER/PLACE, which is not granted to this client.",
      ],
    ] as const) {
      const answer = await post(service, "", body, { as });
      assert.deepEqual([answer.status, answer.bytes.length], [403, 0]);
      assert.equal(
        answer.headers.get("www-authenticate"),
        `Bearer error="insufficient_scope", error_description="${reason}"`,
      );
    }
    const backfillId = await open(service, "PLACE", [{ resource: "inventories", ...range }], { as: half });
    for (const path of ["", "/gaps", "/statement"]) {
      const answer = await service.get(`${BACKFILLS}/${backfillId}${path}`, { as: reader });
      assert.deepEqual([answer.status, answer.json()["exception"]], [404, "bellhop.backfill.NotFound"]);
    }
    assert.equal((await post(service, `/${backfillId}/close`)).status, 404);
    const listed = await service.get(`${BACKFILLS}?state=open`, { as: half });
    assert.deepEqual(
      (listed.json()["items"] as { backfillId: string }[]).map((item) => item.backfillId),
      [backfillId],
    );
    assert.equal((await service.get(BACKFILLS, { as: reader })).json()["nextCursor"], null);
    const found = await bellhop("list", "--client-id", half.clientId, "--json");
    assert.equal((JSON.parse(found.out) as { items: object[] }).items.length, 1);
  });
});

test("a client that lost the grant of the property cannot read a backfill, but can abandon it", async () => {
  const client = await service.newClient();
  const range = { resource: "reservations", from: "2026-01-01", to: "2026-01-31" };
  const own = await open(service, "REVOKED", [range], { as: client });
  const ended = await open(service, "REVOKED", [range], { as: client });
  const path = `${BACKFILLS}/${ended}`;
  assert.equal((await post(service, `/${ended}/close`, { acceptGaps: true }, { as: client })).status, 200);
  const admin = { internals: service.service.authenticator.internals, who: "cli:test" };
  await updateClient(admin, client.clientId, { grants: [{ clientCode: "OTHER", propertyCode: "*" }] });
  await until(async () => (await service.get(path, { as: client })).status === 403, 20_000);
  for (const part of ["", "/gaps", "/statement"]) {
    const answer = await service.get(`${path}${part}`, { as: client });
    assert.deepEqual([answer.status, answer.bytes.length], [403, 0], part);
    assert.match(answer.headers.get("www-authenticate") ?? "", /ACME\/REVOKED, which is not granted/);
  }
  assert.equal((await post(service, `/${own}/close`, { acceptGaps: true }, { as: client })).status, 403);
  const abandoned = asBackfill(await post(service, `/${own}/abandon`, undefined, { as: client }));
  assert.deepEqual([abandoned.state, abandoned.resources], ["abandoned", []]);
});

test("a batch whose body arrives after the end of its backfill is refused", async () => {
  const own = await open(service, "SLOW", [{ resource: "groups", from: "2026-01-01", to: "2026-01-31" }]);
  const body = JSON.stringify([groupRecord({ propertyCode: "SLOW" })]);
  const headers = { "backfill-id": own };
  const ended = Promise.withResolvers<void>();
  const stream = () =>
    new ReadableStream({
      async start(sent) {
        sent.enqueue(new TextEncoder().encode(body.slice(0, 10)));
        await ended.promise;
        sent.enqueue(new TextEncoder().encode(body.slice(10)));
        sent.close();
      },
    });
  const send = async (more: Record<string, string>) => {
    for (;;) {
      const answer = await service.post("groups", stream(), { headers: { ...headers, ...more } });
      // One that is asked with below may have been admitted in its place.
      if (answer.status !== 429) return answer;
    }
  };
  const sending = [send({}), send({ "idempotency-key": "slow" })];
  const next = async () => (await service.post("groups", body, { headers })).status;
  try {
    // So many are admitted at a time.
    await until(async () => (await next()) === 429, 20_000);
    await post(service, `/${own}/abandon`);
    await until(async () => (await next()) === 409, 20_000);
  } finally {
    ended.resolve();
  }
  for (const answer of await Promise.all(sending))
    assert.deepEqual([answer.status, answer.json()["exception"]], [409, "bellhop.backfill.NotOpen"]);
});

test("closing is charged for the records that it reads again, though it is refused", async () => {
  const as = await service.newClient({ requestRate: 1, requestBurst: 10_000 });
  const stays = Array.from({ length: 1_000 }, (_, n) =>
    reservation(`C${n}`, T1, { propertyCode: "CHARGED" }),
  );
  const range = { resource: "reservations", from: "2026-01-01", to: "2026-01-31", expectedRecords: 2_000 };
  const own = await open(service, "CHARGED", [range], { as });
  await apply(service, "reservations", stays);
  const sent = await service.post("reservations", stays, { as, headers: { "backfill-id": own } });
  await untilApplied(service, String(sent.json()["requestId"]), as);
  const left = async () =>
    Number(/r=(\d+)/.exec((await service.get(BACKFILLS, { as })).headers.get("ratelimit") ?? "")?.[1]);
  let before = 0;
  await until(async () => {
    before = await left();
    const { exception } = (await post(service, `/${own}/close`, undefined, { as })).json();
    return exception === "bellhop.backfill.HasGaps";
  }, 20_000);
  // Ten for the records, and two requests; some of the rate comes back meanwhile.
  assert.ok(before - (await left()) > 6);
});

test("the reads of one client wait for each other, and hold one connection", async () => {
  const { pool } = service;
  const own = await open(service, "TURNS", [{ resource: "groups", from: "2026-01-01", to: "2026-01-31" }]);
  const holder = await pool.connect();
  try {
    await holder.query("begin; lock table bellhop.property");
    const answers = ["", "/gaps", "", "/gaps"].map((of) => service.get(`${BACKFILLS}/${own}${of}`));
    const closing = post(service, `/${own}/close`, { acceptGaps: true });
    const waiting = async () =>
      (
        await pool.query(
          `select from pg_stat_activity
          where wait_event_type = 'Lock' and datname = current_database() and query like 'select property_id%from bellhop.property where client_code = $1 and property_code = $2'`,
        )
      ).rowCount ?? 0;
    await until(async () => (await waiting()) > 0, 20_000);
    // Those sent before have reached the database by then, if they do.
    for (let n = 0; n < 5; n += 1) await service.get(BACKFILLS);
    assert.equal(await waiting(), 1);
    await holder.query("commit");
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200);
    assert.ok([200, 409].includes((await closing).status));
  } finally {
    holder.release(true);
  }
});

test("of the copies of a backfill eight bytes each are kept while they are counted", async () => {
  const { pool, client } = service;
  const propertyCode = "COPIES";
  const stays = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => reservation(`Zürich ${from + n}`, T1, { propertyCode }));
  const own = await open(service, propertyCode, [
    { resource: "reservations", from: "2026-01-01", to: "2026-01-31" },
  ]);
  await apply(service, "reservations", stays(0, 40));
  const headers = { "backfill-id": own };
  await apply(service, "reservations", stays(10, 30), { headers });
  await apply(service, "reservations", stays(35, 45), { headers });
  // Five are versions of this backfill, ten copies of copies.
  await apply(service, "reservations", stays(20, 42), { headers });
  const given: unknown[] = [];
  const watched = watchedPool(pool, ({ name, values = [] }) => {
    if (name?.startsWith("count-keys")) given.push(values[5]);
  });
  const backfill = await requireBackfill(pool, own, client.clientId);
  const property = await findProperty(pool, "ACME", propertyCode);
  const read = { records: 0, bytes: 0 };
  const [tally] = await tallyOf(
    watched,
    backfill,
    property?.propertyId ?? null,
    UP_TO_NOW,
    (records, bytes) => {
      read.records += records;
      read.bytes += bytes;
    },
  );
  assert.equal(tally?.distinctRecords, 35);
  // The last batch has two of the five.
  const copies = 20 + 5 + 22;
  assert.deepEqual(
    given.map((keys) => Buffer.isBuffer(keys) && keys.length),
    [0, 8 * copies],
  );
  assert.equal(read.records, copies);
  assert.ok(read.bytes > 100 * copies);
});

test("a record released after the statement does not change it", async () => {
  const { pool, client } = service;
  const propertyCode = "RELEASED";
  const own = await open(service, propertyCode, [
    { resource: "reservations", from: "2026-01-01", to: "2026-01-31" },
  ]);
  const headers = { "backfill-id": own, prefer: "handling=lenient" };
  const stay = (id: string, at = T1) => reservation(id, at, { propertyCode });
  await apply(service, "reservations", [stay("V1"), { ...stay("V2"), status: 5 }], { headers });
  const ahead = new Date(Date.now() + 3_600_000).toISOString();
  const requestId = await apply(service, "reservations", [stay("V2", ahead)], { headers });
  const { statementHash } = asBackfill(await close(service, own, { acceptGaps: true }));
  await resolveQuarantined(service, "release", requestId, 0, bucketOf("ACME", propertyCode));
  const signed = await countersignBackfill(
    pool,
    await requireBackfill(pool, own, client.clientId),
    statementHash ?? "",
    "test",
  );
  assert.equal(signed.signatures.length, 2);
});

test("after retention deletes counted data, the statement stays and cannot be recomputed", async () => {
  const own = await startTestService();
  const { database, pool } = own;
  try {
    const stays = ["D1", "D2"].map((id) => reservation(id, T1, { propertyCode: "TERM" }));
    const range = { resource: "reservations", from: "2026-01-01", to: "2026-01-31", expectedRecords: 2 };
    const [closed, left] = [await open(own, "TERM", [range]), await open(own, "TERM", [range])];
    await apply(own, "reservations", stays);
    // Nothing but what they were sent as says of which records these are copies.
    for (const id of [closed, left])
      await apply(own, "reservations", stays, { headers: { "backfill-id": id } });
    const before = asBackfill(await close(own, closed));
    assert.deepEqual(before.resources[0]?.missingRecords, 0);
    const gapsBefore = await gapsOf(own, closed, 10);
    const retain = async (kind: "payloads" | "outcomes") => {
      await setTerm(pool, { clientCode: "*", kind, resource: undefined }, 86_400_000);
      const nowMs = Date.now() + 90 * 86_400_000;
      const { expired } = await runRetention({ clientConfig: database.clientConfig, nowMs });
      assert.ok(expired.some(({ replaced }) => replaced !== null));
    };
    await retain("payloads");
    const open2 = await progress(own, left);
    assert.deepEqual([open2.resources[0]?.batches, open2.resources[0]?.distinctRecords], [1, 0]);
    assert.equal((await close(own, left)).json()["exception"], "bellhop.backfill.HasGaps");
    for (const kind of ["payloads", "outcomes"] as const) {
      if (kind !== "payloads") await retain(kind);
      assert.deepEqual(await progress(own, closed), before);
      assert.deepEqual(await gapsOf(own, closed, 10), gapsBefore);
      const backfill = await requireBackfill(pool, closed, null);
      assert.equal(await isReproduced(pool, backfill), null);
      await assert.rejects(
        countersignBackfill(pool, backfill, backfill.statementHash ?? "", "test"),
        /cannot be recomputed/,
      );
      const shown = await bellhopOf(own, "show", closed);
      assert.deepEqual([shown.code, /reproduced +cannot be recomputed/.test(shown.out)], [0, true]);
    }
  } finally {
    await own.stop();
  }
});

test("retention accounts for no more of a difference than it can have made", async () => {
  const own = await startTestService();
  const { database, pool } = own;
  try {
    const range = { resource: "inventories", from: "2026-01-01", to: "2026-01-02" };
    const backfillId = await open(own, "HORIZON", [range]);
    const night = (date: string, at: string) => inventory(date, at, { propertyCode: "HORIZON" });
    const headers = { "backfill-id": backfillId };
    await apply(own, "inventories", [night("2026-01-01", T1)], { headers });
    await apply(own, "inventories", [night("2026-01-02", T1)], { headers });
    await close(own, backfillId);
    // Of the first date a later version is current, so retention takes the one that the statement counts.
    const sold = [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 32 }];
    await apply(own, "inventories", [{ ...night("2026-01-01", T2), roomTypeInventories: sold }]);
    await setTerm(pool, { clientCode: "*", kind: "versions", resource: undefined }, 86_400_000);
    // The first run makes the windows.
    for (const days of [0, 90])
      await runRetention({ clientConfig: database.clientConfig, nowMs: Date.now() + days * 86_400_000 });
    const reproduced = async () => isReproduced(pool, await requireBackfill(pool, backfillId, null));
    assert.equal(await reproduced(), null);
    const { rows } = await pool.query<{ statement: string }>(
      "select statement from bellhop.backfill where backfill_id = $1",
      [backfillId],
    );
    const sayInstead = (said: string, instead: string) => {
      const changed = rows[0]?.statement.replace(said, instead);
      assert.notEqual(changed, rows[0]?.statement);
      return pool.query("update bellhop.backfill set statement = $2 where backfill_id = $1", [
        backfillId,
        changed,
      ]);
    };
    for (const [said, instead] of [
      ['"batches":2', '"batches":3'],
      ['"records":2', '"records":3'],
      ['"distinctRecords":2', '"distinctRecords":1'],
      ['"complete":true', '"complete":false'],
    ] as const) {
      await sayInstead(said, instead);
      assert.equal(await reproduced(), false, instead);
    }
    await pool.query("update bellhop.backfill set statement = $2 where backfill_id = $1", [
      backfillId,
      rows[0]?.statement,
    ]);
    assert.equal(await reproduced(), null);
    await pool.query(
      "delete from bellhop.accept_log where request_id = (select max(request_id::text)::uuid from bellhop.accept_log where backfill_id = $1)",
      [backfillId],
    );
    assert.equal(await reproduced(), false);
  } finally {
    await own.stop();
  }
});

test("a console operator sees a backfill, signs a complete one, and abandons an open one", async () => {
  const range = { resource: "inventories", from: "2026-01-01", to: "2026-01-02", expectedRecords: 2 };
  const backfillId = await open(service, "DESK", [range]);
  const nights = days("2026-01-01", 2).map((night) => inventory(night, T1, { propertyCode: "DESK" }));
  await apply(service, "inventories", nights, { headers: { "backfill-id": backfillId } });
  const desk = await logInAsNew(service, "anna");
  const path = `backfills/${backfillId}`;
  const early = await desk.post(`${path}/sign`, { hash: "0".repeat(64) });
  assert.deepEqual([early.status, early.json()["exception"]], [409, "bellhop.console.Conflict"]);
  const { statementHash } = asBackfill(await close(service, backfillId));
  assert.deepEqual((await desk.read<{ items: object[] }>(`${path}/gaps`)).items, []);
  const signed = await desk.change<{ reproduced: boolean; signatures: { signedBy: string }[] }>(
    `${path}/sign`,
    {
      hash: statementHash,
    },
  );
  assert.deepEqual([signed.reproduced, signed.signatures[1]?.signedBy], [true, "console:anna"]);
  const other = await open(service, "DESK", [range]);
  const abandoned = await desk.change<{ state: string }>(`backfills/${other}/abandon`, { why: "twice" });
  assert.equal(abandoned.state, "abandoned");
  const listed = await desk.read<{ items: { backfillId: string }[] }>("backfills?state=abandoned&limit=1");
  assert.equal(listed.items[0]?.backfillId, other);
  assert.equal((await desk.get("backfills/none")).status, 404);
});

test("backfills are listed page by page, newest first", async () => {
  const client = await service.newClient();
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1)
    ids.push(
      await open(service, `PAGE${n}`, [{ resource: "groups", from: "2026-01-01", to: "2026-01-01" }], {
        as: client,
      }),
    );
  const listed: string[] = [];
  let cursor = "";
  do {
    const page = (await service.get(`${BACKFILLS}?limit=1${cursor}`, { as: client })).json() as {
      items: { backfillId: string }[];
      nextCursor: string | null;
    };
    listed.push(...page.items.map(({ backfillId }) => backfillId));
    cursor = page.nextCursor === null ? "" : `&cursor=${page.nextCursor}`;
  } while (cursor !== "");
  assert.deepEqual(listed, ids.reverse());
});
