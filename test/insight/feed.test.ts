import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { insightItems, insightPage } from "../support/insight-fixture.ts";
import { apply, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const ASKED = { clientCode: "ACME", propertyCode: "LIS01", from: "2026-07-01", to: "2026-07-31" };

/** A reservation of 14 to 17 July at 100 a night, with more or other than that. */
const stay = (id: string, modified: string, rate: string, more: Record<string, unknown> = {}) =>
  reservation(id, modified, {
    roomStays: [
      {
        arrivalDate: "2026-07-14",
        departureDate: "2026-07-17",
        roomTypeCode: "DLX",
        currencyCode: "EUR",
        numberOfAdults: 2,
        rates: [{ rateValue: rate }],
      },
    ],
    ...more,
  });

const rooms = (items: readonly Record<string, unknown>[]) =>
  items.map((item) => [String(item["stayDate"]).slice(8), item["rooms"], item["roomRevenue"]]);

test("a pushed reservation is on the books once applied, at its source time", async () => {
  await apply(service, "reservations", [
    stay("A", "2026-03-01T00:00:00Z", "100", { numberOfRooms: 2 }),
    stay("B", "2026-03-02T00:00:00Z", "80.5", { shareId: "S" }),
    stay("C", "2026-03-02T00:00:00Z", "0", { shareId: "S" }),
  ]);
  await apply(service, "reservations", [stay("A", "2026-03-05T00:00:00Z", "90", { numberOfRooms: 1 })]);
  const at = async (asOf: string) => rooms(await insightItems(service, "on-the-books", { ...ASKED, asOf }));
  const nights = (count: number, revenue: string) => ["14", "15", "16"].map((day) => [day, count, revenue]);
  assert.deepEqual(await at("2026-02-28T23:59:59.999999Z"), []);
  assert.deepEqual(await at("2026-03-01T00:00:00Z"), nights(2, "200.00"));
  assert.deepEqual(await at("2026-03-02T00:00:00Z"), nights(3, "280.50"));
  assert.deepEqual(await at("2026-03-05T00:00:00Z"), nights(2, "170.50"));
  // What comes late corrects the past.
  await apply(service, "reservations", [
    stay("A", "2026-03-03T00:00:00Z", "0", { status: "CANCELLED", numberOfRooms: 2 }),
  ]);
  assert.deepEqual(await at("2026-03-04T00:00:00Z"), nights(1, "80.50"));
  assert.deepEqual(await at("2026-03-05T00:00:00Z"), nights(2, "170.50"));
  const pickup = await insightItems(service, "pickup", {
    ...ASKED,
    since: "2026-03-02T12:00:00Z",
    asOf: "2026-03-04T00:00:00Z",
  });
  assert.deepEqual(
    pickup.map(({ booked, cancelled, rooms: net, roomRevenue }) => [booked, cancelled, net, roomRevenue]),
    ["14", "15", "16"].map(() => [0, 2, -2, "-200.00"]),
  );
});

test("a guest who begins or stops sharing a room counts as neither booked nor cancelled", async () => {
  const asked = { ...ASKED, propertyCode: "SHARED" };
  const book = (id: string, modified: string, more: Record<string, unknown> = {}) =>
    apply(service, "reservations", [stay(id, modified, "100", { propertyCode: "SHARED", ...more })]);
  await book("A", "2026-03-01T00:00:00Z");
  await book("D", "2026-03-01T00:00:00Z");
  await book("A", "2026-03-02T00:00:00Z", { shareId: "S" });
  await book("B", "2026-03-02T00:00:00Z", { shareId: "S" });
  await book("A", "2026-03-03T00:00:00Z", { shareId: "S", status: "CANCELLED" });
  await book("B", "2026-03-04T00:00:00Z");
  await book("B", "2026-03-05T00:00:00Z", { shareId: "T" });
  await book("D", "2026-03-05T00:00:00Z", { shareId: "T" });
  const pickupOf = async (since: string, asOf: string) => {
    const items = await insightItems(service, "pickup", {
      ...asked,
      since: `2026-03-${since}T12:00:00Z`,
      asOf: `2026-03-${asOf}T12:00:00Z`,
    });
    return items.map(({ booked, cancelled, rooms: net }) => [booked, cancelled, net]);
  };
  const nights = (...counts: number[]) => ["14", "15", "16"].map(() => counts);
  assert.deepEqual(await pickupOf("01", "02"), nights(0, 0, 0));
  assert.deepEqual(await pickupOf("02", "03"), nights(0, 0, 0));
  assert.deepEqual(await pickupOf("03", "04"), []);
  // Two rooms become one.
  assert.deepEqual(await pickupOf("04", "05"), nights(0, 1, -1));
  assert.deepEqual(await pickupOf("01", "05"), nights(0, 1, -1));
});

test("an answer at or below the watermark never changes", async () => {
  await apply(service, "inventories", [inventory("2026-07-14", "2026-03-01T00:00:00Z")]);
  const asked = { ...ASKED, clock: "receipt", by: "roomType" };
  const { rows } = await service.pool.query<{ now: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`,
  );
  const asOf = rows[0]?.now ?? "";
  await until(async () => {
    const { watermark } = await insightPage(service, "on-the-books", asked);
    return watermark !== null && watermark >= asOf;
  }, 30_000);
  const insights = [
    ["on-the-books", asked],
    ["pickup", { ...asked, since: "2020-01-01T00:00:00Z" }],
    ["pace", { ...asked, from: "2026-07-14", to: "2026-07-16" }],
  ] as const;
  const ask = async () =>
    await Promise.all(
      insights.map(
        async ([name, parameters]) => (await insightPage(service, name, { ...parameters, asOf })).items,
      ),
    );
  const before = await ask();
  assert.ok(before[0]?.some((item) => item["capacity"] === 40 && item["rooms"] !== 0));
  await apply(service, "reservations", [
    stay("A", "2026-03-01T12:00:00Z", "1"),
    stay("B", "2026-04-01T00:00:00Z", "1", { status: "NO_SHOW" }),
    stay("D", "2020-01-01T00:00:00Z", "7"),
  ]);
  await apply(service, "inventories", [
    inventory("2026-07-14", "2026-05-01T00:00:00Z", { roomTypeInventories: [] }),
    inventory("2026-07-15", "2026-01-01T00:00:00Z"),
  ]);
  assert.deepEqual(await ask(), before);
  const now = rooms(await insightItems(service, "on-the-books", asked));
  assert.notDeepEqual(now, rooms(before[0] ?? []));
});
