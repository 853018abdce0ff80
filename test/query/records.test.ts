import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { BodyLayout } from "../../src/ingest/log/body-layout.ts";
import { bucketOf, type StoredBody } from "../../src/ingest/log/part-name.ts";
import { replaceBody, rewriteBody } from "../../src/ingest/log/rewrite-body.ts";
import { loadPart, loadRecords } from "../../src/query/load-records.ts";
import { apply, group, inventory, LISBON, readAll, readPage, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { watchedPool } from "../support/watched-pool.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const ids = (items: readonly Record<string, unknown>[], field = "reservationId") =>
  items.map((item) => item[field]);

describe("the current records of a property", () => {
  test("are returned byte for byte, whatever their spacing, numbers and spelling", async () => {
    const records = [
      `{ "clientCode":"BYTE", "propertyCode":"P1",\n\t"reservationId":"A\\u0042\\/", "lastModifiedDateTime":"2026-01-01T00:00:00Z",
        "status":"CONFIRMED", "roomStays":[ {"arrivalDate":"2026-01-01","departureDate":"2026-01-02","roomTypeCode":"D",
        "rates":[{"rateValue":180.10}, {"rateValue":"000180.100"}], "numberOfAdults":"2" } ], "x":1.50, "y":1E+2, "z":"Zoë \\ud83d\\ude00 😀" }`,
      `{"clientCode":"BYTE","propertyCode":"P1","reservationId":"zz","lastModifiedDateTime":"2026-01-01T00:00:00.5Z","status":"X","roomStays":[{"arrivalDate":"2026-01-01","departureDate":"2026-01-01","roomTypeCode":"D"}],"unknown":{"a":[]}}`,
    ];
    const client = await service.newClient({ grants: [{ clientCode: "BYTE", propertyCode: "P1" }] });
    await apply(service, "reservations", ` [ ${records[0]} ,\n${records[1]}\t]`, { as: client });
    const answer = await service.get("/api/public/v1/reservations?clientCode=BYTE&propertyCode=P1", {
      as: client,
    });
    assert.equal(answer.bytes.toString("utf8"), `{"items":[${records.join(",")}],"nextCursor":null}`);
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const history = await service.get(
      "/api/public/v1/reservations/history?clientCode=BYTE&propertyCode=P1&reservationId=zz",
      { as: client },
    );
    assert.ok(history.text.endsWith(`,"record":${records[1]}}],"nextCursor":null}`), history.text);
  });

  test("are returned verbatim from many batches, small ones and one that is too large to be read whole", async () => {
    const of = (id: string, noise: string) => ({
      ...reservation(id, "2026-01-01T00:00:00Z", { noise }),
      propertyCode: "MANY",
    });
    // What does not compress: four bodies' worth of chunks beyond what comes with a layout.
    const large = Array.from({ length: 150 }, (_, at) =>
      of(`L${String(at * 10).padStart(4, "0")}`, randomBytes(1_500).toString("hex")),
    );
    await apply(service, "reservations", large);
    const small = Array.from({ length: 150 }, (_, at) =>
      of(`L${String(at * 10 + 5).padStart(4, "0")}`, `${at}`),
    );
    // Each batch is read for two distant records, by different statements.
    for (const [at, record] of small.slice(0, 75).entries())
      await apply(service, "reservations", [record, small[at + 75]]);
    const { items } = await readPage(service, "reservations?clientCode=ACME&propertyCode=MANY&limit=1000");
    const sent = [...large, ...small].sort((a, b) => (a.reservationId < b.reservationId ? -1 : 1));
    assert.deepEqual(items, sent);
  });

  test("are consistent if their part is rewritten between reading its layout and its chunks", async () => {
    const sent = Array.from({ length: 258 }, (_, at) => ({
      ...reservation(`W${at}`, "2026-01-01T00:00:00Z", { noise: randomBytes(300).toString("base64") }),
      propertyCode: "REWRITTEN",
    }));
    const requestId = await apply(service, "reservations", sent);
    const part = { bucket: bucketOf("ACME", "REWRITTEN"), requestId };
    // Shorter, so that the second chunk, which is stored uncompressed, begins earlier.
    const redacted = { ...sent[3], noise: "[erased]" };
    const rewrite = async () => {
      const { rows } = await service.pool.query<StoredBody & { log_writer_id: string }>(
        "select log_writer_id::text, layout, body from bellhop.accept_log where request_id = $1",
        [requestId],
      );
      const stored = rows[0] ?? assert.fail("no part");
      assert.equal(new BodyLayout(stored.layout).rangeOf(256).chunk, 1);
      const rewritten = await rewriteBody(part, stored, ({ index }) =>
        index === 3 ? { bytes: Buffer.from(JSON.stringify(redacted)), contentHash: "0".repeat(32) } : "keep",
      );
      const { layout, body } = rewritten ?? assert.fail("nothing was rewritten");
      const values = [part.bucket, stored.log_writer_id, requestId, layout, body];
      await service.pool.query({ ...replaceBody, values });
    };
    let isRewritten = false;
    const pool = watchedPool(service.pool, async ({ name }) => {
      if (name?.startsWith("read-chunks") !== true || isRewritten) return;
      isRewritten = true;
      await rewrite();
    });
    const kept: unknown[] = [];
    for await (const bytes of loadRecords(
      pool,
      [257, 3, 256, 0].map((index) => ({ ...part, index })),
    ))
      kept.push(JSON.parse(bytes.toString()));
    assert.ok(isRewritten);
    assert.deepEqual(kept, [sent[257], redacted, sent[256], sent[0]]);
    isRewritten = false;
    redacted.noise = "";
    const all: unknown[] = [];
    for await (const bytes of loadPart(pool, part.bucket, requestId)) all.push(JSON.parse(bytes.toString()));
    assert.ok(isRewritten);
    assert.deepEqual(all, sent.with(3, redacted as (typeof sent)[0]));
  });

  test("are the newest by source time, in the order of keys, of each resource", async () => {
    await apply(service, "reservations", [
      reservation("R2", "2026-01-02T00:00:00Z", { channel: "new" }),
      reservation("R1", "2026-01-01T00:00:00Z"),
    ]);
    await apply(service, "reservations", [reservation("R2", "2026-01-01T00:00:00Z", { channel: "old" })]);
    await apply(service, "groups", [group("G1", "2026-01-01T00:00:00Z")]);
    await apply(service, "inventories", [
      inventory("2026-07-15", "2026-01-01T00:00:00Z"),
      inventory("2026-07-14", "2026-01-01T00:00:00Z"),
    ]);
    const { items, nextCursor } = await readPage(service, `reservations?${LISBON}`);
    assert.deepEqual(ids(items), ["R1", "R2"]);
    assert.equal(items[1]?.["channel"], "new");
    assert.equal(nextCursor, null);
    assert.deepEqual(ids((await readPage(service, `groups?${LISBON}`)).items, "groupCode"), ["G1"]);
    const dates = (await readPage(service, `inventories?${LISBON}`)).items;
    assert.deepEqual(ids(dates, "occupancyDate"), ["2026-07-14", "2026-07-15"]);
  });

  test("are filtered by key, date range, status and modification", async () => {
    const stays = (arrivalDate: string) => ({
      roomStays: [{ arrivalDate, departureDate: "2027-12-31", roomTypeCode: "D" }],
    });
    const of = (id: string, modified: string, more: object) => ({
      ...reservation(id, modified),
      propertyCode: "FIL",
      ...more,
    });
    await apply(service, "reservations", [
      of("c", "2026-01-01T00:00:00Z", stays("2027-01-01")),
      of("b", "2026-01-01T00:00:00.000001Z", { ...stays("2027-01-02"), status: "CANCELLED" }),
      of("a", "2026-01-03T00:00:00Z", stays("2027-01-02")),
      of("d", "2026-01-03T00:00:00Z", stays("2027-01-03")),
    ]);
    const found = async (filter: string) =>
      ids((await readPage(service, `reservations?clientCode=ACME&propertyCode=FIL&${filter}`)).items);
    assert.deepEqual(await found("reservationId=b"), ["b"]);
    assert.deepEqual(await found("reservationId=nobody"), []);
    assert.deepEqual(await found("reservationId=b&from=2027-01-03"), []);
    assert.deepEqual(await found("from=2027-01-01&to=2027-01-02"), ["c", "a", "b"]);
    assert.deepEqual(await found("from=2027-01-02"), ["a", "b", "d"]);
    assert.deepEqual(await found("to=2027-01-01"), ["c"]);
    assert.deepEqual(await found("status=CANCELLED"), ["b"]);
    assert.deepEqual(await found("modifiedSince=2026-01-01T00:00:00.000001Z"), ["a", "b", "d"]);
    assert.deepEqual(await found("modifiedSince=2026-01-01T00:00:00.000002Z&from=2027-01-03"), ["d"]);
    await apply(
      service,
      "inventories",
      ["2027-01-01", "2027-01-02", "2027-01-03"].map((date) => ({
        ...inventory(date, "2026-01-01T00:00:00Z"),
        propertyCode: "FIL",
      })),
    );
    const dates = async (filter: string) =>
      ids(
        (await readPage(service, `inventories?clientCode=ACME&propertyCode=FIL&${filter}`)).items,
        "occupancyDate",
      );
    assert.deepEqual(await dates("from=2027-01-02"), ["2027-01-02", "2027-01-03"]);
    assert.deepEqual(await dates("from=2027-01-02&to=2027-01-02"), ["2027-01-02"]);
    assert.deepEqual(await dates("occupancyDate=2027-01-03"), ["2027-01-03"]);
  });

  test("are read from large batches of many properties, in pages larger and smaller than their chunks", async () => {
    const filler = "f".repeat(1_500);
    const records = Array.from({ length: 700 }, (_, at) => ({
      ...reservation(`L${String((at * 389) % 700).padStart(4, "0")}`, "2026-01-01T00:00:00Z", { filler, at }),
      propertyCode: `BIG${at % 3}`,
    }));
    await apply(service, "reservations", records);
    for (const [property, limit] of [
      ["BIG0", 1_000],
      ["BIG1", 7],
      ["BIG2", 64],
    ] as const) {
      const read = await readAll(
        service,
        `reservations?clientCode=ACME&propertyCode=${property}&limit=${limit}`,
      );
      const sent = records.filter((record) => record.propertyCode === property);
      assert.deepEqual(
        read,
        sent.sort((left, right) => (left.reservationId < right.reservationId ? -1 : 1)),
      );
    }
  });
});

describe("cursors", () => {
  test("neither skip nor repeat a record while others are written, modified and moved", async () => {
    const at = (id: number, day: number, modified: string) => ({
      ...reservation(`C${String(id).padStart(4, "0")}`, modified, {
        roomStays: [
          {
            arrivalDate: `2028-01-${String(day).padStart(2, "0")}`,
            departureDate: "2028-03-01",
            roomTypeCode: "D",
          },
        ],
      }),
      propertyCode: "CUR",
    });
    const old = "2026-01-01T00:00:00Z";
    await apply(
      service,
      "reservations",
      Array.from({ length: 200 }, (_, id) => at(id * 2, 1 + (id % 28), old)),
    );
    let next = 1;
    const disturb = async () => {
      // New keys all over, and every tenth record of those that were there moves to another date.
      const added = Array.from({ length: 10 }, (_, n) => at(next + n * 40, 1 + ((next + n) % 28), old));
      await apply(service, "reservations", [...added, at((next * 20) % 400, 15, "2026-01-02T00:00:00Z")]);
      next += 2;
    };
    for (const order of ["", "&from=2028-01-01"]) {
      const read = ids(
        await readAll(service, `reservations?clientCode=ACME&propertyCode=CUR&limit=23${order}`, disturb),
      );
      const kept = Array.from({ length: 200 }, (_, id) => id * 2).filter((id) => id % 20 !== 0);
      for (const id of kept) {
        const name = `C${String(id).padStart(4, "0")}`;
        assert.equal(read.filter((found) => found === name).length, 1, `${name} ${order}`);
      }
      // In the order of keys a record is reported once even when it is modified.
      if (order === "") assert.equal(new Set(read).size, read.length);
    }
  });

  test("end exactly at the last record, without an empty page after a full one", async () => {
    await apply(
      service,
      "reservations",
      ["1", "2", "3", "4"].map((id) => ({ ...reservation(id, "2026-01-01T00:00:00Z"), propertyCode: "END" })),
    );
    const first = await readPage(service, "reservations?clientCode=ACME&propertyCode=END&limit=2");
    assert.notEqual(first.nextCursor, null);
    const second = await readPage(
      service,
      `reservations?clientCode=ACME&propertyCode=END&limit=2&cursor=${first.nextCursor}`,
    );
    assert.deepEqual(ids(second.items), ["3", "4"]);
    assert.equal(second.nextCursor, null);
  });

  test("carry keys of any script and length", async () => {
    const keys = [
      "\u{10ffff}".repeat(128),
      "Zoë & Søn + 100 %",
      "'; drop table x; --",
      '"\\/\n',
      "日本",
    ].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    await apply(
      service,
      "reservations",
      keys.map((key) => ({ ...reservation(key, "2026-01-01T00:00:00Z"), propertyCode: "KEY" })),
    );
    assert.deepEqual(
      ids(await readAll(service, "reservations?clientCode=ACME&propertyCode=KEY&limit=1")),
      keys,
    );
    for (const key of keys) {
      const query = `clientCode=ACME&propertyCode=KEY&reservationId=${encodeURIComponent(key)}`;
      assert.deepEqual(ids((await readPage(service, `reservations?${query}`)).items), [key]);
      assert.equal((await readPage(service, `reservations/history?${query}`)).items.length, 1);
    }
  });
});

describe("records as of an instant", () => {
  const path = (asOf: string, filter = "") =>
    `reservations?clientCode=ACME&propertyCode=ASOF&asOf=${asOf}${filter}`;
  const of = (id: string, modified: string, more: object = {}) => ({
    ...reservation(id, modified, more as Record<string, unknown>),
    propertyCode: "ASOF",
  });
  const received: string[] = [];

  before(async () => {
    const batches = [
      [of("x", "2026-01-02T00:00:00Z", { channel: "first" }), of("y", "2026-01-01T00:00:00Z")],
      [of("x", "2026-01-01T00:00:00Z", { channel: "late and stale" })],
      [
        of("x", "2026-01-03T00:00:00Z", { channel: "second", status: "CANCELLED" }),
        of("z", "2026-01-01T00:00:00Z"),
      ],
    ];
    for (const batch of batches) {
      await apply(service, "reservations", batch);
      received.push(String((await readPage(service, "requests?limit=1")).items[0]?.["receivedAt"]));
    }
  });

  const microsecondBefore = (time: string) => {
    const micros = BigInt(Date.parse(`${time.slice(0, 23)}Z`)) * 1000n + BigInt(time.slice(23, 26)) - 1n;
    return `${new Date(Number(micros / 1000n)).toISOString().slice(0, 23)}${String(micros % 1000n).padStart(3, "0")}Z`;
  };
  const reported = async (asOf: string, filter = "") =>
    (await readPage(service, path(asOf, filter))).items.map((item) => [
      item["reservationId"],
      item["channel"] ?? null,
    ]);

  test("are what had been received by then, to the microsecond, the newest source time winning", async () => {
    assert.deepEqual(await reported(microsecondBefore(received[0] as string)), []);
    const first = [
      ["x", "first"],
      ["y", null],
    ];
    assert.deepEqual(await reported(received[0] as string), first);
    assert.deepEqual(await reported(received[1] as string), first, "a stale version changes nothing");
    assert.deepEqual(await reported(microsecondBefore(received[2] as string)), first);
    assert.deepEqual(await reported(received[2] as string), [
      ["x", "second"],
      ["y", null],
      ["z", null],
    ]);
    assert.deepEqual(await reported("9999-12-31T23:59:59Z"), await reported(received[2] as string));
    assert.deepEqual(await reported("0001-01-01T00:00:00Z"), []);
  });

  test("are filtered by their values at that instant", async () => {
    assert.deepEqual(await reported(received[0] as string, "&status=CANCELLED"), []);
    assert.deepEqual(await reported(received[2] as string, "&status=CANCELLED"), [["x", "second"]]);
    assert.deepEqual(await reported(received[0] as string, "&reservationId=x"), [["x", "first"]]);
    assert.deepEqual(await reported(received[0] as string, "&from=2026-07-15"), []);
    assert.deepEqual(
      await reported(
        received[0] as string,
        "&from=2026-07-14&to=2026-07-14&modifiedSince=2026-01-02T00:00:00Z",
      ),
      [["x", "first"]],
    );
    assert.deepEqual(ids(await readAll(service, path(received[2] as string, "&limit=1"))), ["x", "y", "z"]);
  });

  test("exist for inventories and groups too", async () => {
    await apply(service, "inventories", [
      { ...inventory("2026-07-14", "2026-01-01T00:00:00Z"), propertyCode: "ASOF" },
    ]);
    await apply(service, "groups", [{ ...group("G", "2026-01-01T00:00:00Z"), propertyCode: "ASOF" }]);
    for (const resource of ["inventories", "groups"]) {
      const query = `${resource}?clientCode=ACME&propertyCode=ASOF&asOf=`;
      assert.equal((await readPage(service, `${query}9999-01-01T00:00:00Z`)).items.length, 1);
      assert.equal((await readPage(service, `${query}2020-01-01T00:00:00Z`)).items.length, 0);
    }
  });
});

describe("the history of a record", () => {
  test("holds every version, oldest first by source time and then receipt, with its outcome", async () => {
    const of = (modified: string, channel: string) => ({
      ...reservation("h", modified, { channel }),
      propertyCode: "HIS",
    });
    const t = (second: number) => `2026-01-01T00:00:0${second}Z`;
    const first = await apply(service, "reservations", [of(t(2), "b"), of(t(2), "c"), of(t(2), "c")]);
    const second = await apply(service, "reservations", [of(t(1), "a"), of(t(3), "c")]);
    const path = "reservations/history?clientCode=ACME&propertyCode=HIS&reservationId=h";
    const { items } = await readPage(service, path);
    assert.deepEqual(
      items.map(({ sourceTime, requestId, index, outcome, record }) => [
        sourceTime,
        requestId,
        index,
        outcome,
        (record as { channel: string }).channel,
      ]),
      [
        ["2026-01-01T00:00:01.000000Z", second, 0, "stale", "a"],
        ["2026-01-01T00:00:02.000000Z", first, 0, "applied", "b"],
        ["2026-01-01T00:00:02.000000Z", first, 1, "applied", "c"],
        ["2026-01-01T00:00:03.000000Z", second, 1, "unchanged", "c"],
      ],
    );
    assert.match(String(items[0]?.["receivedAt"]), /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual(await readAll(service, `${path}&limit=1`), items);
    assert.deepEqual(await readAll(service, `${path}&limit=3`), items);
  });
});

describe("a swap of the state by a replay", () => {
  test("is not noticed by readers, also on connections that had read before", async () => {
    await apply(service, "reservations", [
      { ...reservation("s", "2026-01-01T00:00:00Z"), propertyCode: "SWAP" },
    ]);
    const paths = ["", "&asOf=9999-01-01T00:00:00Z", "&from=2026-01-01"].map(
      (filter) => `reservations?clientCode=ACME&propertyCode=SWAP${filter}`,
    );
    paths.push("reservations/history?clientCode=ACME&propertyCode=SWAP&reservationId=s");
    const readThem = () =>
      Promise.all(
        [...paths, ...paths, ...paths].map(async (path) => (await readPage(service, path)).items.length),
      );
    const all = paths.concat(paths, paths).map(() => 1);
    // Five times and more: by then PostgreSQL keeps a plan.
    for (let round = 0; round < 7; round += 1) assert.deepEqual(await readThem(), all);
    const { clientConfig } = service.database;
    const report = await replay({ clientConfig, pool: service.pool, swap: true });
    assert.deepEqual(report.unboundViews, []);
    assert.deepEqual(await readThem(), all);
    await service.pool.query(`drop schema ${report.formerSchema} cascade`);
    assert.deepEqual(await readThem(), all);
  });
});
