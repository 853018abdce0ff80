import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { COUNT_MAX } from "../../src/apply/ledger/reservation-nights.ts";
import { bucketOf, isoOfMicroseconds, microsecondsOf } from "../../src/ingest/log/part-name.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { mapStatus } from "../../src/settings/status-mapping.ts";
import { addProperty, askInsight, insightItems, insightPage } from "../support/insight-fixture.ts";
import { type ModelRun, writeBlocks, writeNights } from "../support/insight-model.ts";
import { assertDocumented } from "../support/openapi.ts";
import { apply, inventory, parameterMessage, resolveQuarantined } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dayOf } from "../workload/calendar-day.ts";

const NIGHT = "2026-07-14";
const DAY = dayOf(NIGHT);
const JULY = { clientCode: "ACME", from: "2026-07-01", to: "2026-07-31" };
const INSIGHTS = ["on-the-books", "pickup", "pace"] as const;
const SINCE = { since: "2026-01-01T00:00:00Z" };

const RUN: ModelRun = {
  status: "CONFIRMED",
  first: DAY,
  nights: 1,
  rooms: 1,
  adults: 2,
  children: 0,
  net: 10_000,
  gross: null,
  roomType: "DLX",
  bookedRoomType: null,
  marketSegment: null,
  group: null,
  rateCode: null,
  channel: null,
  currency: "EUR",
};
const AT = { sourceTime: "2026-03-01T00:00:00.000000Z", receivedAt: "2026-03-01T00:00:01.000000Z" };

let service: TestService;
let document: OpenApiDocument;
before(async () => {
  service = await startTestService();
  document = (await service.get("/openapi.json")).json() as unknown as OpenApiDocument;
});
after(() => service.stop());

/** A property with reservations of these runs, one each. */
async function hotelOf(propertyCode: string, runs: readonly Partial<ModelRun>[]) {
  const place = await addProperty(service, propertyCode);
  const versions = runs.map((run, at) => ({
    ...AT,
    key: `R${at}`,
    shareId: null,
    runs: [{ ...RUN, ...run }],
  }));
  await writeNights(service.pool, place, versions);
  return place;
}

const parametersOf = (name: string, more: Readonly<Record<string, string>> = {}) => ({
  ...JULY,
  propertyCode: "ASKED",
  ...(name === "pickup" ? SINCE : {}),
  ...more,
});

describe("permission to query", () => {
  test("is a client with the scope insight:read, about the properties that it was granted", async () => {
    await hotelOf("ASKED", [{}]);
    const reader = await service.newClient({ scopes: ["read"] });
    const foreign = await service.newClient({ grants: [{ clientCode: "OTHER", propertyCode: "*" }] });
    for (const name of INSIGHTS) {
      const statusOf = async (as: Parameters<typeof askInsight>[3]) => {
        const answer = await askInsight(service, name, parametersOf(name), as);
        assertDocumented(document, "GET", `/api/insight/v1/${name}`, answer);
        return answer.status;
      };
      assert.equal(await statusOf({}), 200);
      assert.equal(await statusOf({ as: null }), 401);
      assert.equal(await statusOf({ as: reader }), 403);
      assert.equal(await statusOf({ as: foreign }), 403);
    }
  });

  test("is empty for a granted property that no batch has named", async () => {
    for (const name of INSIGHTS) {
      const page = await insightPage(service, name, parametersOf(name, { propertyCode: "NEVER" }));
      assert.deepEqual([page.items, page.nextCursor], [[], null]);
    }
  });
});

describe("a parameter that cannot be used is refused, and the message names it", () => {
  const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ from: "2026-02-30" }, /^from takes a date as YYYY-MM-DD/],
    [{ from: "2026-08-01" }, /^from must not be after to/],
    [{ by: "status" }, /^by takes one of: none, roomType/],
    [{ by: "" }, /^by takes one of/],
    [{ clock: "SOURCE" }, /^clock takes one of: source, receipt/],
    [{ asOf: "2026-07-01" }, /^asOf takes a UTC time/],
    [{ asOf: "2026-07-01T00:00:00.1234567891Z" }, /^asOf takes a UTC time/],
    [{ asOf: "infinity" }, /^asOf takes a UTC time/],
    [{ limit: "0" }, /^limit takes a whole number from 1 to 10000/],
    [{ limit: "10001" }, /^limit takes/],
    [{ limit: "1e3" }, /^limit takes/],
    [{ limit: "-1" }, /^limit takes/],
    [{ limit: "9".repeat(400) }, /^limit takes/],
    [{ cursor: "x" }, /^cursor takes the nextCursor/],
    [{ cursor: Buffer.from("[1]").toString("base64url") }, /^cursor takes the nextCursor/],
    [{ clientCode: "" }, /^clientCode takes 1 to 128/],
    [{ propertyCode: "\0" }, /^propertyCode takes 1 to 128/],
    [{ propertyCode: "x".repeat(300) }, /^propertyCode takes 1 to 128/],
    [{ "by[]": "none" }, /is not known/],
    [{ __proto__x: "1" }, /is not known/],
  ];
  for (const name of INSIGHTS) {
    test(name, async () => {
      for (const [parameters, message] of wrong) {
        const answer = await askInsight(service, name, parametersOf(name, parameters));
        assert.match(parameterMessage(answer), message, JSON.stringify(parameters));
        assertDocumented(document, "GET", `/api/insight/v1/${name}`, answer);
      }
      for (const missing of ["clientCode", "propertyCode", "from", "to"]) {
        const { [missing]: _left, ...rest } = parametersOf(name) as Record<string, string>;
        assert.match(
          parameterMessage(await askInsight(service, name, rest)),
          new RegExp(`^${missing} is required`),
        );
      }
      if (name === "pickup")
        for (const end of [{ since: "2026-07-01T00:00:00Z" }, { asOf: "2026-07-01T00:00:00Z" }]) {
          const asked = { ...JULY, propertyCode: "ASKED", day: "2026-07-02", ...end };
          assert.match(
            parameterMessage(await askInsight(service, name, asked)),
            /^day is the end of a pickup/,
          );
        }
      const twice = await service.get(`/api/insight/v1/${name}?from=2026-07-01&from=2026-07-02`);
      assert.match(parameterMessage(twice), /^from must be given once/);
    });
  }

  test("what belongs to another insight, and instants in the wrong order", async () => {
    const of = async (name: string, more: Record<string, string>) =>
      parameterMessage(await askInsight(service, name, parametersOf(name, more)));
    assert.match(await of("on-the-books", SINCE), /is not known/);
    assert.match(await of("pickup", { daysBefore: "3" }), /is not known/);
    assert.match(await of("pace", { daysBefore: "1101" }), /^daysBefore takes a whole number from 0 to 1100/);
    assert.match(await of("pickup", { asOf: "2025-01-01T00:00:00Z" }), /^since must not be after asOf/);
  });

  test("a cursor of another question", async () => {
    await hotelOf("CURSOR", [{}, { first: DAY + 1 }]);
    const asked = { ...JULY, propertyCode: "CURSOR", limit: "1" };
    const { nextCursor } = await insightPage(service, "on-the-books", asked);
    assert.ok(nextCursor !== null);
    const other = await askInsight(service, "on-the-books", {
      ...asked,
      to: "2026-07-30",
      cursor: nextCursor,
    });
    assert.match(parameterMessage(other), /^cursor takes the nextCursor of an answer to this same query/);
  });
});

describe("amounts", () => {
  test("are exact, in the digits of their currency; rates by room are rounded half away from zero", async () => {
    await hotelOf("MONEY", [
      { net: 10_001, rooms: 2 },
      { net: 5_000, rooms: 1, currency: "JPY" },
      { net: -5, rooms: 2, currency: "USD", gross: 0 },
      { net: null, currency: "KWD" },
      { net: 100, currency: null, roomType: "X" },
    ]);
    const items = await insightItems(service, "on-the-books", { ...JULY, propertyCode: "MONEY" });
    const reported = items.map(({ currency, rooms, roomRevenue, grossRoomRevenue, adr }) => [
      currency,
      rooms,
      roomRevenue,
      grossRoomRevenue,
      adr,
    ]);
    assert.deepEqual(reported, [
      ["EUR", 2, "100.01", null, "50.01"],
      ["JPY", 1, "50", null, "50"],
      ["KWD", 1, null, null, null],
      ["USD", 2, "-0.05", "0.00", "-0.03"],
      [null, 1, "1.00", null, "1.00"],
    ]);
  });

  test("records without a currency use that of the settings, together with records that name it", async () => {
    await hotelOf("DEFAULT", [{ net: 100, currency: null }, { net: 200 }]);
    await setSetting(service.pool, { clientCode: "ACME", propertyCode: "DEFAULT", name: "currency" }, "EUR");
    const { items, settingsVersion } = await insightPage(service, "on-the-books", {
      ...JULY,
      propertyCode: "DEFAULT",
    });
    assert.deepEqual(
      items.map(({ currency, roomRevenue }) => [currency, roomRevenue]),
      [["EUR", "3.00"]],
    );
    assert.ok(settingsVersion > 0);
  });
});

describe("statuses", () => {
  test("use the client code's mapping at the time of the query, and report unmapped statuses separately", async () => {
    await hotelOf("LABELS", [{ status: "WALK IN" }, { status: "conf." }, { status: "CXL" }, {}]);
    const asked = { ...JULY, propertyCode: "LABELS" };
    const of = async () =>
      (await insightItems(service, "on-the-books", asked)).map(({ rooms, unmappedRooms }) => [
        rooms,
        unmappedRooms,
      ]);
    assert.deepEqual(await of(), [[1, 2]]);
    const status = { clientCode: "ACME", resource: "reservations", status: "WALK IN" } as const;
    await mapStatus(service.pool, status, true);
    assert.deepEqual(await of(), [[2, 1]]);
    await mapStatus(service.pool, { ...status, status: "CONFIRMED" }, false);
    assert.deepEqual(await of(), [[1, 1]]);
    await service.pool.query("delete from bellhop.status_mapping");
  });

  test("of groups hold blocks by their own mapping; pickup beyond a block holds nothing", async () => {
    const place = await addProperty(service, "BLOCKS");
    const { net: _net, gross: _gross, ...codes } = RUN;
    const block = (key: string, status: string, blocks: number, pickedUp: number | null) => ({
      ...AT,
      key,
      runs: [{ ...codes, status, group: key, nights: 2, blocks, pickedUp }],
    });
    const blocks = [block("A", "DEFINITE", 10, 4), block("B", "DEF", 2, 5), block("C", "TENTATIVE", 9, null)];
    // The greatest counts that a record may carry: what is left of such a block is beyond 32 bits.
    blocks.push(block("D", "DEFINITE", COUNT_MAX, -COUNT_MAX));
    await writeBlocks(service.pool, place, blocks);
    const asked = { ...JULY, propertyCode: "BLOCKS", by: "group" };
    const items = await insightItems(service, "on-the-books", asked);
    assert.deepEqual(
      items.map((item) => [item["stayDate"], item["group"], item["rooms"], item["blocksRemaining"]]),
      [
        [NIGHT, "A", 0, 6],
        [NIGHT, "D", 0, COUNT_MAX],
        ["2026-07-15", "A", 0, 6],
        ["2026-07-15", "D", 0, COUNT_MAX],
      ],
    );
  });
});

/** When a request was received. A node may be behind the database's clock, so what it receives next may be before that clock's now. */
const receiptOf = (requestId: string) => isoOfMicroseconds(microsecondsOf(requestId));

async function databaseTime(): Promise<string> {
  const { rows } = await service.pool.query<{ now: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`,
  );
  return rows[0]?.now ?? "";
}

describe("capacity", () => {
  const stock = (
    date: string,
    created: string,
    rooms: readonly (readonly [string, number, number, number])[],
  ) =>
    inventory(date, created, {
      propertyCode: "STOCK",
      roomTypeInventories: rooms.map(([roomTypeCode, roomTypeCapacity, off, roomsSold]) => ({
        roomTypeCode,
        roomTypeCapacity,
        roomsSold,
        roomsNotAvailableMaintenance: off,
      })),
      virtualRoomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 99, roomsSold: 9 }],
    });
  const of = (items: readonly Record<string, unknown>[]) =>
    items.map((item) => [
      String(item["stayDate"]).slice(8),
      item["roomType"] ?? "-",
      item["rooms"],
      item["capacity"],
      item["outOfOrder"],
      item["occupancy"],
      item["revpar"],
      item["soldReported"],
    ]);
  const asked = { ...JULY, propertyCode: "STOCK" };
  let knownAt = "";

  before(async () => {
    const first = await apply(service, "inventories", [
      stock(NIGHT, "2026-02-01T00:00:00Z", [
        ["DLX", 8, 0, 1],
        ["STD", 4, 0, 0],
      ]),
      stock("2026-07-16", "2026-02-01T00:00:00Z", [["DLX", 8, 0, 0]]),
    ]);
    knownAt = receiptOf(first);
    await apply(service, "inventories", [
      stock(NIGHT, "2026-04-01T00:00:00Z", [
        ["DLX", 8, 2, 1],
        ["STD", 4, 0, 0],
      ]),
      stock("2026-07-20", "2026-04-01T00:00:00Z", [["DLX", 3, 0, 3]]),
    ]);
    const { rows: known } = await service.pool.query<{ property_id: number; bucket: number }>(
      "select property_id, bucket from bellhop.property where property_code = 'STOCK'",
    );
    const place = { propertyId: known[0]?.property_id ?? 0, bucket: known[0]?.bucket ?? 0 };
    const runs = [
      { rooms: 3, net: 30_000 },
      { roomType: "SUITE", net: 9_900, currency: "USD" },
      { first: DAY + 3 },
    ];
    await writeNights(
      service.pool,
      place,
      runs.map((run, at) => ({ ...AT, key: `S${at}`, shareId: null, runs: [{ ...RUN, ...run }] })),
    );
  });

  test("of a night is what inventory reports, whether or not anything is on the books; virtual room types have none", async () => {
    assert.deepEqual(of(await insightItems(service, "on-the-books", asked)), [
      ["14", "-", 3, 12, 2, "0.2500", "25.00", 1],
      ["14", "-", 1, null, null, "0.0833", "8.25", null],
      ["16", "-", 0, 8, 0, "0.0000", "0.00", 0],
      ["17", "-", 1, null, null, null, null, null],
      ["20", "-", 0, 3, 0, "0.0000", "0.00", 3],
    ]);
  });

  test("by room type is that of the room type, page by page", async () => {
    const whole = [
      ["14", "DLX", 3, 8, 2, "0.3750", "37.50", 1],
      ["14", "STD", 0, 4, 0, "0.0000", "0.00", 0],
      ["14", "SUITE", 1, null, null, null, null, null],
      ["16", "DLX", 0, 8, 0, "0.0000", "0.00", 0],
      ["17", "DLX", 1, null, null, null, null, null],
      ["20", "DLX", 0, 3, 0, "0.0000", "0.00", 3],
    ];
    for (const limit of ["1", "2", "3", "5", "1000"])
      assert.deepEqual(
        of(await insightItems(service, "on-the-books", { ...asked, by: "roomType", limit })),
        whole,
        limit,
      );
  });

  test("by anything else is not reported", async () => {
    for (const item of await insightItems(service, "on-the-books", { ...asked, by: "channel" }))
      assert.deepEqual(
        [item["capacity"], item["occupancy"], item["revpar"], item["soldReported"]],
        [null, null, null, null],
      );
  });

  test("excludes rooms out of order if the settings say so", async () => {
    await setSetting(
      service.pool,
      { clientCode: "ACME", propertyCode: "STOCK", name: "occupancyBase" },
      "available",
    );
    const [first] = await insightItems(service, "on-the-books", { ...asked, to: NIGHT });
    assert.deepEqual([first?.["capacity"], first?.["occupancy"], first?.["revpar"]], [12, "0.3000", "30.00"]);
    await setSetting(
      service.pool,
      { clientCode: "ACME", propertyCode: "STOCK", name: "occupancyBase" },
      "capacity",
    );
  });

  test("is that of the instant, by the requested clock", async () => {
    const before = [
      ["14", 12, 0],
      ["16", 8, 0],
    ];
    const capacities = (items: readonly Record<string, unknown>[]) =>
      items
        .filter(({ capacity }) => capacity !== null)
        .map((item) => [String(item["stayDate"]).slice(8), item["capacity"], item["outOfOrder"]]);
    const bySource = await insightItems(service, "on-the-books", { ...asked, asOf: "2026-02-15T00:00:00Z" });
    assert.deepEqual(capacities(bySource), before);
    const byReceipt = await insightItems(service, "on-the-books", {
      ...asked,
      asOf: knownAt,
      clock: "receipt",
    });
    assert.deepEqual(
      capacities(byReceipt).filter(([day]) => day !== "14"),
      before.slice(1),
    );
    assert.deepEqual(capacities(byReceipt)[0], before[0]);
    assert.deepEqual(
      await insightItems(service, "on-the-books", { ...asked, asOf: "2025-01-01T00:00:00Z" }),
      [],
    );
  });
});

for (const before of [8, undefined])
  test(`inventory counts from its release by the clock of receipt, after a capacity of ${before}`, async () => {
    const propertyCode = `HELD-${before}`;
    const push = (created: string, capacity: number) =>
      apply(service, "inventories", [
        inventory(NIGHT, created, {
          propertyCode,
          roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: capacity, roomsSold: 1 }],
        }),
      ]);
    if (before !== undefined) await push("2026-02-01T00:00:00Z", before);
    const release = async (created: string, capacity: number) => {
      const requestId = await push(created, capacity);
      await resolveQuarantined(service, "release", requestId, 0, bucketOf("ACME", propertyCode), "i");
      return { requestId, released: await databaseTime() };
    };
    const first = await release("2999-01-01T00:00:00Z", 9);
    const second = await release("3000-01-01T00:00:00Z", 10);
    const instants = [
      receiptOf(first.requestId),
      first.released,
      receiptOf(second.requestId),
      second.released,
    ];
    const known: unknown[] = [];
    for (const at of [...instants.map((asOf) => ({ clock: "receipt", asOf })), {}]) {
      const asked = { ...JULY, propertyCode, to: NIGHT, ...at };
      const [books] = await insightItems(service, "on-the-books", asked);
      const [night] = await insightItems(service, "reconciliation", asked);
      known.push([books?.["capacity"], night?.["requestId"]]);
    }
    const [ofFirst, ofSecond] = [
      [9, first.requestId],
      [10, second.requestId],
    ];
    assert.equal((known.shift() as unknown[])[0], before);
    assert.deepEqual(known, [ofFirst, ofFirst, ofSecond, ofSecond]);
  });

test("nights whose inventory exceeds one statement's limit are all returned", async () => {
  const propertyCode = "VERBOSE";
  const roomTypeInventories = Array.from({ length: 900 }, (_, at) => ({
    roomTypeCode: String(at).padEnd(120, "x"),
    roomTypeCapacity: 1,
    roomsSold: 0,
  }));
  const nights = Array.from({ length: 12 }, (_, at) => `2026-07-${at + 10}`);
  const pushed = nights.map((night) =>
    inventory(night, "2026-02-01T00:00:00Z", { propertyCode, roomTypeInventories }),
  );
  await apply(service, "inventories", pushed);
  const items = await insightItems(service, "on-the-books", { ...JULY, propertyCode });
  assert.deepEqual(
    items.map(({ stayDate, capacity }) => [stayDate, capacity]),
    nights.map((night) => [night, 900]),
  );
});

describe("CSV", () => {
  const csv = { headers: { accept: "text/csv" } };

  test("has a header and one line per item, quoted according to RFC 4180, without formulas", async () => {
    await hotelOf("CSV", [
      { channel: '=HYPERLINK("x")', net: -500 },
      { channel: "-1+1", first: DAY + 1 },
      { channel: "@a,b", first: DAY + 2 },
      { channel: "line\nbreak", first: DAY + 3 },
      { channel: "\t+1", first: DAY + 4 },
      { channel: "plain;=1+1", first: DAY + 5 },
      { channel: "\uff1d1+1;\uff20a", first: DAY + 6 },
    ]);
    const asked = { ...JULY, propertyCode: "CSV", by: "channel" };
    const answer = await askInsight(service, "on-the-books", asked, csv);
    assertDocumented(document, "GET", "/api/insight/v1/on-the-books", answer);
    assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
    assert.equal(answer.headers.get("x-settings-version") !== null, true);
    const [head, ...lines] = answer.text.split("\r\n");
    assert.equal(
      head,
      "stayDate,channel,rooms,roomRevenue,grossRoomRevenue,adults,children,capacity,outOfOrder,occupancy,adr,revpar,currency,blocksRemaining,unmappedRooms,soldReported,dayUseRooms,dayUseRevenue,feeRevenue,outsideStayRevenue",
    );
    assert.equal(lines[0], `2026-07-14,"'=HYPERLINK(""x"")",1,-5.00,,2,0,,,,-5.00,,EUR,0,0,,0,,,`);
    const wanted = [
      "15,'-1+1,1,100",
      `16,"'@a,b",1`,
      '17,"line\nbreak",1',
      "18,'\t+1,1,",
      "19,plain;'=1+1,1,100.00,",
      "20,'\uff1d1+1;'\uff20a,1,100.00,",
    ];
    for (const line of wanted) assert.ok(answer.text.includes(`\r\n2026-07-${line}`), line);
  });

  test("links the next page in a header", async () => {
    const asked = { ...JULY, propertyCode: "CSV", by: "channel", limit: "4" };
    const first = await askInsight(service, "on-the-books", asked, csv);
    const [, address = ""] = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "") ?? [];
    const second = await service.get(address, csv);
    assert.equal(second.headers.get("link"), null);
    assert.equal(second.text.split("\r\n").length, 5);
    assertDocumented(document, "GET", "/api/insight/v1/on-the-books", second);
    assert.equal(
      (await service.get(address, {})).headers.get("content-type"),
      "application/json; charset=utf-8",
    );
  });

  test("supports every insight, including HEAD", async () => {
    for (const name of INSIGHTS) {
      const answer = await askInsight(service, name, parametersOf(name, { propertyCode: "CSV" }), csv);
      assertDocumented(document, "GET", `/api/insight/v1/${name}`, answer);
      assert.ok(answer.text.includes("\r\n"), answer.text);
      const head = await service.send(
        "HEAD",
        `/api/insight/v1/${name}?${new URLSearchParams(parametersOf(name))}`,
      );
      assert.equal(head.status, 200);
    }
  });
});

describe("a range of dates", () => {
  test("is answered wherever in the calendar it lies, and however empty it is", async () => {
    await hotelOf("LONG", [{ first: dayOf("1900-01-01") }, { first: dayOf("2500-01-01"), nights: 3 }]);
    const of = { clientCode: "ACME", propertyCode: "LONG" };
    const asked = { ...of, from: "2497-06-01", to: "2500-06-04" };
    const former = { ...of, from: "1899-01-01", to: "1902-01-05" };
    const books = [];
    for (const range of [former, asked]) books.push(...(await insightItems(service, "on-the-books", range)));
    assert.deepEqual(
      books.map((item) => item["stayDate"]),
      ["1900-01-01", "2500-01-01", "2500-01-02", "2500-01-03"],
    );
    assert.equal((await insightItems(service, "pickup", { ...asked, ...SINCE })).length, 3);
    const pace = await insightItems(service, "pace", { ...asked, daysBefore: "2" });
    assert.deepEqual(
      pace.map((item) => item["rooms"]),
      [null, null, null],
    );
    const early = { ...of, from: "0001-01-01", to: "0001-01-02" };
    assert.equal((await insightPage(service, "pace", { ...early, daysBefore: "1" })).nextCursor, null);
    const last = { ...of, from: "9999-12-31", to: "9999-12-31" };
    assert.deepEqual(await insightItems(service, "on-the-books", last), []);
  });

  test("a stay up to the end of the calendar is on the books of each night, page by page", async () => {
    await hotelOf("FOREVER", [{ nights: dayOf("9999-12-31") - DAY }]);
    const asked = {
      clientCode: "ACME",
      propertyCode: "FOREVER",
      from: "9999-11-01",
      to: "9999-12-31",
      limit: "7",
    };
    const nights = (await insightItems(service, "on-the-books", asked)).map((item) => item["stayDate"]);
    assert.equal(nights.length, 60);
    assert.equal(nights.at(-1), "9999-12-30");
    const first = { ...asked, from: "2026-01-01", to: "2028-12-31", limit: "3" };
    const page = await insightPage(service, "on-the-books", first);
    assert.deepEqual(
      page.items.map((item) => item["stayDate"]),
      [NIGHT, "2026-07-15", "2026-07-16"],
    );
  });
});
