// How doubtful values of records are read: each figure, view and finding goes by the same reading, and records stay verbatim.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setSetting } from "../../src/settings/change-setting.ts";
import { addProperty, insightItems } from "../support/insight-fixture.ts";
import { apply, group, inventory, readAll, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

const MODIFIED = "2026-03-01T00:00:00Z";
const NIGHT = "2026-07-14";
const JULY = { clientCode: "ACME", from: "2026-07-01", to: "2026-07-31" };
const BLANKS = ["", " ", "\t", "\u00a0"] as const;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

type Fields = Record<string, unknown>;

/** A reservation of one night. */
function booked(propertyCode: string, id: string, fields: Fields = {}, stay: Fields = {}): object {
  const roomStays = [{ arrivalDate: NIGHT, departureDate: "2026-07-15", roomTypeCode: "DLX", ...stay }];
  return reservation(id, MODIFIED, { propertyCode, roomStays, ...fields });
}

function held(propertyCode: string, code: string, blocks: readonly Fields[], fields: Fields = {}): object {
  const groupBlocks = blocks.map((block) => ({ occupancyDate: NIGHT, roomTypeCode: "DLX", ...block }));
  const dates = { startDate: NIGHT, endDate: "2026-07-15" };
  return group(code, MODIFIED, { propertyCode, ...dates, groupBlocks, ...fields });
}

const ask = (name: string, propertyCode: string, more: Record<string, string> = {}) =>
  insightItems(service, name, { ...JULY, propertyCode, ...more });

test("a blank code means absent in shares, groupings, blocks and views, and the record stays verbatim", async () => {
  await addProperty(service, "BLANK");
  const codes = (blank: string) => ({
    bookedRoomTypeCode: blank,
    marketSegmentCode: blank,
    groupBlockCode: blank,
    rateCode: blank,
    sourceBookingCode: blank,
    roomNumber: blank,
    currencyCode: blank,
  });
  const sent = BLANKS.map((blank, at) => {
    const fields = { shareId: blank, channel: blank, multiReservationId: blank, nationality: blank };
    return booked("BLANK", `R${at}`, fields, codes(blank));
  });
  await apply(service, "reservations", sent);
  await apply(service, "groups", [
    held("BLANK", "G", [{ blocks: 3, currencyCode: " " }], {
      masterGroupCode: "",
      marketSegmentCode: " ",
      rateCode: "",
    }),
  ]);
  for (const by of ["none", "bookedRoomType", "marketSegment", "group", "rateCode", "channel"]) {
    const items = await ask("on-the-books", "BLANK", { by });
    const rooms = items.filter((item) => item["rooms"] !== 0);
    const unit = by === "none" ? undefined : by === "bookedRoomType" ? "DLX" : null;
    assert.deepEqual(
      rooms.map((item) => [item[by], item["rooms"], item["currency"]]),
      [[unit, BLANKS.length, null]],
      by,
    );
  }
  const { rows } = await service.pool.query(
    `select distinct multi_reservation_id, share_id, channel, nationality, booked_room_type_code, market_segment_code,
       group_block_code, rate_code, source_booking_code, stay.currency_code
     from analytics.reservation join analytics.room_stay as stay using (client_code, property_code, reservation_id)
     where property_code = 'BLANK'`,
  );
  assert.equal(rows.length, 1);
  assert.deepEqual(new Set(Object.values(rows[0] as object)), new Set([null]));
  const masters = await service.pool.query(
    `select master_group_code, market_segment_code, rate_code from analytics.group_block_master where property_code = 'BLANK'`,
  );
  assert.deepEqual(masters.rows, [{ master_group_code: null, market_segment_code: null, rate_code: null }]);
  const kept = await readAll(service, "reservations?clientCode=ACME&propertyCode=BLANK");
  assert.deepEqual(kept, sent);
});

test("a currency is one, however it is spelled, and has its own decimal places", async () => {
  await addProperty(service, "MONEY");
  const rate = { rates: [{ rateValue: "100" }] };
  await apply(
    service,
    "reservations",
    ["EUR", "eur", "EUR ", "\tEur"].map((currencyCode, at) => {
      return booked("MONEY", `R${at}`, {}, { ...rate, currencyCode });
    }),
  );
  await apply(service, "reservations", [
    booked(
      "MONEY",
      "J",
      {},
      { ...rate, currencyCode: " jpy", arrivalDate: "2026-07-15", departureDate: "2026-07-16" },
    ),
  ]);
  await apply(service, "groups", [held("MONEY", "G", [{ blocks: 2, currencyCode: "eur" }])]);
  const items = await ask("on-the-books", "MONEY");
  assert.deepEqual(
    items.map((item) => [
      item["stayDate"],
      item["rooms"],
      item["roomRevenue"],
      item["adr"],
      item["currency"],
    ]),
    [
      [NIGHT, 4, "400.00", "100.00", "EUR"],
      ["2026-07-15", 1, "100", "100", "JPY"],
    ],
  );
  assert.equal(items[0]?.["blocksRemaining"], 2);
  const { rows } = await service.pool.query(
    `select array_agg(distinct currency_code) as codes from analytics.stay_night where property_code = 'MONEY'`,
  );
  assert.deepEqual(rows[0]?.codes, ["EUR", "JPY"]);
});

test("a negative count is 0 and subtracts from nothing that another entry counts", async () => {
  await addProperty(service, "MINUS");
  await apply(service, "groups", [
    held("MINUS", "G", [
      { blocks: 10, pickup: 4, originalBlocks: 12 },
      { blocks: -3, pickup: -2, originalBlocks: -1 },
      { blocks: 5, pickup: -5, roomTypeCode: "STE" },
    ]),
  ]);
  await apply(service, "inventories", [
    inventory(NIGHT, MODIFIED, {
      propertyCode: "MINUS",
      roomTypeInventories: [
        { roomTypeCode: "DLX", roomTypeCapacity: 10, roomsSold: 7, roomsNotAvailableMaintenance: 2 },
        { roomTypeCode: "STE", roomTypeCapacity: -4, roomsSold: -3, roomsNotAvailableOther: -1 },
      ],
    }),
  ]);
  const [books] = await ask("on-the-books", "MINUS");
  assert.deepEqual(
    ["capacity", "outOfOrder", "soldReported", "blocksRemaining"].map((name) => books?.[name]),
    [10, 2, 7, 11],
  );
  const blocks = await ask("blocks", "MINUS");
  assert.deepEqual(
    ["blocks", "pickedUp", "originalBlocks", "remaining"].map((name) => blocks[0]?.[name]),
    [15, 4, 12, 11],
  );
  const [night] = await ask("reconciliation", "MINUS");
  assert.equal(night?.["reported"], 7);
});

test("blocks of subgroups are part of their master's, on the books, in blocks and in reconciliation; a setting adds them", async () => {
  const groups: Record<
    string,
    { groups: object[]; remaining: Record<string, number>; both: Record<string, number>; separate: number }
  > = {
    NESTED: {
      groups: [
        held("NESTED", "M", [{ blocks: 10 }], { name: 'a, "b"' }),
        held("NESTED", "S1", [{ blocks: 6 }], { masterGroupCode: "M" }),
        held("NESTED", "S2", [{ blocks: 4 }], { masterGroupCode: "M" }),
      ],
      remaining: { M: 0, S1: 6, S2: 4 },
      both: { M: 10 },
      separate: 20,
    },
    // The master reports the pickup of its subgroups; a cancelled subgroup and another room type hold nothing of it.
    PICKED: {
      groups: [
        held("PICKED", "M", [
          { blocks: 10, pickup: 5 },
          { blocks: 3, roomTypeCode: "STE" },
        ]),
        held("PICKED", "S", [{ blocks: 6, pickup: 4 }], { masterGroupCode: "M" }),
        held("PICKED", "X", [{ blocks: 2 }], { masterGroupCode: "M", groupStatusCode: "CANCELLED" }),
      ],
      remaining: { M: 6, S: 2 },
      both: { M: 6 },
      separate: 10,
    },
    // A chain, a circle, a master of its own and one that never came.
    CHAINED: {
      groups: [
        held("CHAINED", "M", [{ blocks: 10 }], { masterGroupCode: "M" }),
        held("CHAINED", "S", [{ blocks: 6 }], { masterGroupCode: "M" }),
        held("CHAINED", "T", [{ blocks: 9 }], { masterGroupCode: "S" }),
        held("CHAINED", "A", [{ blocks: 2 }], { masterGroupCode: "B" }),
        held("CHAINED", "B", [{ blocks: 2 }], { masterGroupCode: "A" }),
        held("CHAINED", "L", [{ blocks: 1 }], { masterGroupCode: "LATE" }),
      ],
      remaining: { M: 4, S: 0, T: 9, A: 2, B: 2, L: 1 },
      both: { M: 6, S: 9 },
      separate: 30,
    },
  };
  for (const [propertyCode, { groups: sent, remaining, both, separate }] of Object.entries(groups)) {
    await addProperty(service, propertyCode);
    await apply(service, "groups", sent);
    const total = Object.values(remaining).reduce((sum, rooms) => sum + rooms, 0);
    const blocks = await ask("blocks", propertyCode);
    assert.deepEqual(Object.fromEntries(blocks.map((item) => [item["group"], item["remaining"]])), remaining);
    const within = blocks.filter((item) => item["subgroupBlocks"] !== 0);
    assert.deepEqual(
      Object.fromEntries(within.map((item) => [item["group"], item["subgroupBlocks"]])),
      both,
      propertyCode,
    );
    const year = { from: "2026-01-01", to: "2026-12-31" };
    const sums = async () => [
      (await ask("on-the-books", propertyCode))[0]?.["blocksRemaining"],
      (await ask("on-the-books", propertyCode, year))[0]?.["blocksRemaining"],
      (await ask("reconciliation", propertyCode))[0]?.["unpickedBlocks"],
    ];
    assert.deepEqual(await sums(), [total, total, total], propertyCode);
    const byGroup = await ask("on-the-books", propertyCode, { by: "group" });
    const found = byGroup.map((item) => [item["group"], item["blocksRemaining"]]);
    assert.deepEqual(
      Object.fromEntries(found),
      Object.fromEntries(Object.entries(remaining).filter(([, rooms]) => rooms > 0)),
    );
    await setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "groupHierarchy" }, "separate");
    assert.deepEqual(await sums(), [separate, separate, separate], propertyCode);
  }
});

test("the newest master decides whether a number of a night without blocks is 0 or not reported", async () => {
  await addProperty(service, "NEWEST");
  const send = (code: string, version: number, block: Fields) =>
    apply(service, "groups", [
      held("NEWEST", code, [block], { lastModifiedDateTime: `2026-03-0${version}T00:00:00Z` }),
    ]);
  const found = async (code: string) => {
    const items = await ask("blocks", "NEWEST");
    const item = items.find((one) => one["group"] === code);
    return ["blocks", "originalBlocks", "pickedUp", "wash", "remaining"].map((name) => item?.[name]);
  };
  await send("G", 1, { blocks: 8 });
  await send("G", 2, { blocks: 0, pickup: 9, originalBlocks: 0 });
  assert.deepEqual(await found("G"), [0, 0, 9, 0, 0]);
  await send("G", 3, { blocks: 0, pickup: 0, originalBlocks: 5 });
  assert.deepEqual(await found("G"), [0, 5, 0, 5, 0]);
  await send("G", 4, { blocks: 0, originalBlocks: 5 });
  assert.deepEqual(await found("G"), [0, 5, null, 5, 0]);
});
