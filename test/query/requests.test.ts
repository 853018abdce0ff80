import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import {
  accept,
  apply,
  group,
  inventory,
  readAll,
  readPage,
  readRequest,
  reservation,
  resolveQuarantined,
  untilApplied,
} from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const OLD = "2026-01-01T00:00:00Z";
const FUTURE = "2999-01-01T00:00:00Z";
const LENIENT = { headers: { prefer: "handling=lenient", "x-correlation-id": "corr-1" } };

describe("one request", () => {
  test("is accepted until every part of it is applied, and then reports what became of each record", async () => {
    await apply(service, "reservations", [
      reservation("k1", "2026-01-02T00:00:00Z"),
      reservation("k2", OLD, { status: "CONFIRMED" }),
    ]);
    const requestId = await accept(
      service,
      "reservations",
      [
        { ...reservation("plain", OLD), propertyCode: "LIS02" },
        reservation("k1", OLD),
        { reservationId: "broken", clientCode: "ACME" },
        reservation("k2", OLD),
        reservation("k2", "2026-01-03T00:00:00Z"),
        "not even an object",
        reservation("later", FUTURE),
        reservation("odd", OLD, { status: "SOMETHING ELSE" }),
      ],
      LENIENT,
    );
    await untilApplied(service, requestId);
    const status = await readRequest(service, requestId);
    const { records, counts, appliedAt, nextCursor, ...rest } = status as typeof status &
      Record<string, unknown>;
    assert.match(String(appliedAt), /Z$/);
    assert.match(String((rest as Record<string, unknown>)["receivedAt"]), /\.\d{6}Z$/);
    delete (rest as Record<string, unknown>)["receivedAt"];
    assert.deepEqual(rest, {
      requestId,
      status: "applied",
      resource: "reservations",
      correlationId: "corr-1",
      replyTo: null,
      backfillId: null,
      handling: "lenient",
    });
    assert.equal(nextCursor, null);
    assert.deepEqual(counts, {
      records: 8,
      pending: 0,
      applied: 2,
      unchanged: 1,
      stale: 1,
      duplicate: 1,
      quarantined: 1,
      discarded: 0,
      rejected: 2,
      warned: 1,
    });
    assert.deepEqual(
      records.map(({ index, key, outcome, code, pointer }) => [index, key, outcome, code, pointer]),
      [
        [1, "k1", "stale", null, "/1"],
        [2, "broken", "rejected", "required", "/2/propertyCode"],
        [3, "k2", "duplicate", null, "/3"],
        [4, "k2", "unchanged", null, "/4"],
        [5, null, "rejected", "type", "/5"],
        [6, "later", "quarantined", "time.future", "/6"],
        [7, "odd", "applied", null, "/7"],
      ],
    );
    for (const record of records.slice(0, 6)) assert.equal(typeof record["message"], "string");
    assert.deepEqual(
      (records[6]!["warnings"] as { pointer: string; code: string }[]).map(({ pointer, code }) => [
        pointer,
        code,
      ]),
      [["/7/status", "status.unmapped"]],
    );
    const violations = records[1]?.["violations"] as { pointer: string; code: string; message: string }[];
    assert.ok(violations.length >= 3 && violations.every(({ pointer }) => pointer.startsWith("/2")));
    assert.equal(records[1]?.["violationTotal"], violations.length);
    for (const limit of [1, 3, 7]) {
      const paged: unknown[] = [];
      for (let cursor = ""; ; ) {
        const page = await readRequest(service, requestId, `?limit=${limit}${cursor}`);
        paged.push(...page.records);
        assert.deepEqual(page.counts, counts);
        if (page.nextCursor === null) break;
        cursor = `&cursor=${page.nextCursor}`;
      }
      assert.deepEqual(paged, records, `limit ${limit}`);
    }
    const listed = async (outcome: string, limit = 100) => {
      const found: unknown[] = [];
      for (let cursor = ""; ; ) {
        const page = await readRequest(service, requestId, `?outcome=${outcome}&limit=${limit}${cursor}`);
        assert.deepEqual(page.counts, counts);
        found.push(...page.records.map(({ index }) => index));
        if (page.nextCursor === null) return found;
        cursor = `&cursor=${page.nextCursor}`;
      }
    };
    for (const limit of [1, 3, 100]) {
      assert.deepEqual(await listed("all", limit), [0, 1, 2, 3, 4, 5, 6, 7]);
      assert.deepEqual(await listed("applied", limit), [0, 7]);
      assert.deepEqual(await listed("rejected", limit), [2, 5]);
      assert.deepEqual(await listed("quarantined", limit), [6]);
      assert.deepEqual(await listed("discarded", limit), []);
    }
    const [plain] = (await readRequest(service, requestId, "?outcome=applied")).records;
    assert.deepEqual(plain, {
      ...{ index: 0, clientCode: "ACME", propertyCode: "LIS02", key: "plain", outcome: "applied" },
      ...{ code: null, pointer: "/0", message: null, warnings: [] },
    });
    const { nextCursor: own } = await readRequest(service, requestId, "?outcome=all&limit=1");
    const other = await service.get(
      `/api/public/v1/requests/${requestId}?outcome=applied&limit=1&cursor=${own}`,
    );
    assert.equal(other.status, 400, "a cursor belongs to one query");
  });

  test("counts a released record by its final outcome, and a discarded one as discarded", async () => {
    const requestId = await apply(service, "reservations", [
      reservation("q1", FUTURE),
      reservation("q2", FUTURE),
      reservation("q3", FUTURE),
    ]);
    const before = (await readRequest(service, requestId)).counts;
    assert.deepEqual([before["quarantined"], before["applied"]], [3, 0]);
    const bucket = bucketOf("ACME", "LIS01");
    await resolveQuarantined(service, "release", requestId, 0, bucket);
    await resolveQuarantined(service, "discard", requestId, 2, bucket);
    const { counts, records } = await readRequest(service, requestId);
    assert.deepEqual(
      [counts["applied"], counts["quarantined"], counts["discarded"], counts["pending"]],
      [1, 1, 1, 0],
    );
    assert.deepEqual(
      records.map(({ outcome, code }) => [outcome, code]),
      [
        ["applied", "time.future"],
        ["quarantined", "time.future"],
        ["discarded", "time.future"],
      ],
    );
    assert.match(String(records[0]?.["resolvedAt"]), /Z$/);
    for (const [at, outcome] of ["applied", "quarantined", "discarded"].entries()) {
      const only = (await readRequest(service, requestId, `?outcome=${outcome}`)).records;
      assert.deepEqual(only, [records[at]]);
    }
  });

  test("stays accepted, with its records pending, while a part of it waits", async () => {
    // The lease of one bucket is held, as a slow applier would hold it.
    const held = await service.pool.connect();
    await held.query("begin");
    await held.query("select from bellhop.bucket_lease where bucket = $1 for update", [
      bucketOf("ACME", "WAIT"),
    ]);
    const requestId = await accept(service, "reservations", [
      { ...reservation("w", OLD), propertyCode: "WAIT" },
      { ...reservation("w", OLD), propertyCode: "WAIT2" },
    ]);
    const waiting = await readRequest(service, requestId);
    assert.equal(waiting.status, "accepted");
    assert.equal(waiting.appliedAt, null);
    assert.ok((waiting.counts["pending"] ?? 0) >= 1);
    const decided = (await readRequest(service, requestId, "?outcome=all")).records;
    assert.ok(
      decided.every(({ propertyCode }) => propertyCode === "WAIT2"),
      "only those that have an outcome",
    );
    await held.query("rollback");
    held.release();
    await untilApplied(service, requestId);
    assert.equal((await readRequest(service, requestId)).counts["applied"], 2);
  });

  test("is visible only to the client that sent it", async () => {
    const other = await service.newClient();
    const requestId = await accept(service, "reservations", [reservation("mine", OLD)]);
    const missing = [requestId, "01999999-0000-7000-8000-000000000000", "not-a-uuid", `${requestId}0`];
    for (const id of missing) {
      const answer = await service.get(`/api/public/v1/requests/${id}`, { as: other });
      assert.equal(answer.status, 404, answer.text);
      assert.equal(answer.json()["exception"], "bellhop.read.RequestNotFound");
    }
    assert.deepEqual((await readPage(service, "requests", { as: other })).items, []);
    assert.equal((await service.get(`/api/public/v1/requests/${requestId.toUpperCase()}`)).status, 200);
  });

  test("reports thousands of records in pages, without parsing them all at once", async () => {
    const requestId = await apply(
      service,
      "reservations",
      Array.from({ length: 2_500 }, (_, at) => ({
        ...reservation(`M${at}`, OLD, { status: "UNHEARD OF" }),
        propertyCode: "MANY",
      })),
    );
    let read = 0;
    for (let cursor = ""; ; ) {
      const page = await readRequest(service, requestId, `?limit=1000${cursor}`);
      for (const record of page.records) {
        assert.deepEqual([record["index"], record["key"]], [read, `M${read}`]);
        read += 1;
      }
      assert.equal(page.counts["warned"], 2_500);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    assert.equal(read, 2_500);
  });
});

describe("the list of requests", () => {
  test("is newest first and filtered by resource, outcome and time", async () => {
    const client = await service.newClient({ grants: [{ clientCode: "LIST", propertyCode: "*" }] });
    const as = { as: client };
    const of = (record: object) => ({ ...record, clientCode: "LIST" });
    const first = await apply(service, "reservations", [of(reservation("a", "2026-01-02T00:00:00Z"))], as);
    const second = await apply(service, "groups", [of(group("a", OLD))], as);
    const third = await apply(service, "reservations", [of(reservation("a", OLD))], as);
    const fourth = await apply(service, "inventories", [of(inventory("2026-07-14", OLD)), { x: 1 }], {
      ...as,
      ...LENIENT,
    });
    const found = async (filter: string) =>
      (await readPage(service, `requests?${filter}`, as)).items.map((item) => item["requestId"]);
    assert.deepEqual(await found(""), [fourth, third, second, first]);
    assert.deepEqual(await found("resource=reservations"), [third, first]);
    assert.deepEqual(await found("outcome=stale"), [third]);
    assert.deepEqual(await found("outcome=rejected"), [fourth]);
    assert.deepEqual(await found("outcome=applied&resource=groups"), [second]);
    assert.deepEqual(await found("outcome=quarantined"), []);
    const { items } = await readPage(service, "requests", as);
    const times = items.map((item) => String(item["receivedAt"]));
    assert.deepEqual(await found(`from=${times[2]}`), [fourth, third, second]);
    assert.deepEqual(await found(`to=${times[2]}`), [second, first]);
    assert.deepEqual(await found(`from=${times[1]}&to=${times[1]}`), [third]);
    assert.deepEqual(await found("to=1970-01-01T00:00:00Z"), []);
    assert.deepEqual(await found("from=9999-12-31T23:59:59.999999Z"), []);
    assert.deepEqual(await found("from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999999Z"), [
      fourth,
      third,
      second,
      first,
    ]);
    assert.equal((items[0]!["counts"] as Record<string, number>)["rejected"], 1);
    assert.equal(items[0]?.["handling"], "lenient");
  });

  test("is filtered by property exactly, also among properties of one bucket and in batches of many", async () => {
    const bucket = bucketOf("PROP", "P");
    const sharing = Array.from({ length: 1_000 }, (_, at) => `P${at}`).filter(
      (code) => bucketOf("PROP", code) === bucket,
    );
    const [near = "", elsewhere = ""] = sharing;
    const client = await service.newClient({ grants: [{ clientCode: "PROP", propertyCode: "*" }] });
    const of = (propertyCode: string) => ({ ...reservation("a", OLD), clientCode: "PROP", propertyCode });
    const one = await apply(service, "reservations", [of("P")], { as: client });
    const two = await apply(service, "reservations", [of(near)], { as: client });
    const many = Array.from({ length: 200 }, (_, at) => ({ ...of(elsewhere), reservationId: `${at}` }));
    const mixed = await apply(service, "reservations", [of(near), ...many, of("P")], { as: client });
    const found = async (propertyCode: string) =>
      (
        await readPage(service, `requests?clientCode=PROP&propertyCode=${propertyCode}`, { as: client })
      ).items.map((item) => item["requestId"]);
    assert.deepEqual(await found("P"), [mixed, one]);
    assert.deepEqual(await found(near), [mixed, two]);
    assert.deepEqual(await found(elsewhere), [mixed]);
    assert.deepEqual(await found("NEVER-SENT"), []);
  });

  test("is paged by cursors without gaps or repetitions while requests arrive", async () => {
    const client = await service.newClient({ grants: [{ clientCode: "WALK", propertyCode: "*" }] });
    const send = () =>
      accept(service, "reservations", [{ ...reservation("a", OLD), clientCode: "WALK" }], { as: client });
    const sent: string[] = [];
    for (let at = 0; at < 30; at += 1) sent.push(await send());
    const read: unknown[] = [];
    for (let cursor = ""; ; ) {
      const page = await readPage(service, `requests?limit=4${cursor}`, { as: client });
      read.push(...page.items.map((item) => item["requestId"]));
      if (page.nextCursor === null) break;
      await send();
      cursor = `&cursor=${page.nextCursor}`;
    }
    assert.deepEqual(read, sent.reverse());
    const all = await readAll(service, "requests?limit=7");
    assert.equal(new Set(all.map((item) => item["requestId"])).size, all.length);
  });
});
