import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import type { FeedHealth, PropertyFeedHealth } from "../../src/insight/feed-health.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { businessDayOf } from "../../src/settings/business-day.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { mapStatus } from "../../src/settings/status-mapping.ts";
import { assertDocumented } from "../support/openapi.ts";
import { accept, apply, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let document: OpenApiDocument;
before(async () => {
  service = await startTestService();
  document = (await service.get("/openapi.json")).json() as unknown as OpenApiDocument;
});
after(() => service.stop());

/** The feeds of a property of ACME, by resource. */
async function healthOf(propertyCode: string, of: TestService = service) {
  const answer = await of.get(`/api/insight/v1/feed-health?clientCode=ACME&propertyCode=${propertyCode}`);
  assert.equal(answer.status, 200, answer.text);
  assertDocumented(document, "GET", "/api/insight/v1/feed-health", answer);
  const health = answer.json() as unknown as PropertyFeedHealth & { readonly settingsVersion: number };
  const feed = (resource: string): FeedHealth =>
    health.items.find((item) => item.resource === resource) ??
    assert.fail(`There is no feed of ${resource}.`);
  return { ...health, feed };
}

const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();

test("a property that no batch has named has the business day of its settings", async () => {
  // One of the two has another date than UTC at any time of the day.
  for (const timeZone of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    const propertyCode = timeZone.slice(8, 12);
    await setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "timeZone" }, timeZone);
    const { businessDay, readAt, items } = await healthOf(propertyCode);
    assert.equal(businessDay, businessDayOf(new Date(readAt), { timeZone, businessDayEnd: "00:00" }));
    assert.deepEqual(items, []);
  }
});

test("a feed's records of the last days are counted by what became of them", async () => {
  const propertyCode = "COUNT";
  const body = [
    reservation("c1", "2026-01-01T00:00:00Z", { propertyCode }),
    reservation("c2", "2026-01-01T00:00:00Z", { propertyCode, status: "WALK IN" }),
    { ...reservation("c3", "2026-01-01T00:00:00Z", { propertyCode }), roomStays: "none" },
    reservation("c4", new Date(Date.now() + 3_600_000).toISOString(), { propertyCode }),
  ];
  await apply(service, "reservations", body, { headers: { prefer: "handling=lenient" } });
  await apply(service, "reservations", [body[0] ?? {}]);
  const older = reservation("c1", "2025-01-01T00:00:00Z", { propertyCode, channel: "FAX" });
  await apply(service, "reservations", [older]);
  const { feed } = await healthOf(propertyCode);
  const { batches, records, stale, duplicate, rejected, warned, quarantined, ...rest } = feed("reservations");
  assert.deepEqual(
    { batches, records, stale, duplicate, rejected, warned, quarantined },
    { batches: 3, records: 6, stale: 1, duplicate: 1, rejected: 1, warned: 1, quarantined: 1 },
  );
  assert.deepEqual([rest.rejectionRate, rest.warningRate], ["0.1667", "0.1667"]);
  assert.ok(Date.now() - Date.parse(rest.lastReceivedAt ?? "") < 60_000);
  assert.ok(rest.cadenceHours !== null && rest.cadenceHours < 1);
  const { lastReceivedAt, silent, rejectionRate, lastPushAt } = feed("groups");
  assert.deepEqual([lastReceivedAt, silent, rejectionRate, lastPushAt], [null, false, null, null]);
});

test("a batch of two properties is a batch of each", async () => {
  await apply(service, "reservations", [
    reservation("t1", "2026-01-01T00:00:00Z", { propertyCode: "TWO1" }),
    reservation("t2", "2026-01-01T00:00:00Z", { propertyCode: "TWO2" }),
    reservation("t3", "2026-01-01T00:00:00Z", { propertyCode: "TWO1" }),
  ]);
  for (const [code, count] of [
    ["TWO1", 2],
    ["TWO2", 1],
  ] as const) {
    const { batches, records } = (await healthOf(code)).feed("reservations");
    assert.deepEqual([batches, records], [1, count]);
  }
});

test("a rejected record counts for the property that it names, and for one of the batch's if it names none", async () => {
  const valid = (id: string, propertyCode: string) =>
    reservation(id, "2026-01-01T00:00:00Z", { propertyCode });
  const invalid = (id: string, propertyCode: unknown) => ({
    ...reservation(id, "2026-01-01T00:00:00Z"),
    propertyCode,
    roomStays: "none",
  });
  const codes = ["NAMES0", "NAMES1", "NAMES2"];
  const neighbour = Array.from({ length: 2_000 }, (_, n) => `NB${n}`).find(
    (code) => bucketOf("ACME", code) === bucketOf("ACME", "NAMES0"),
  ) as string;
  for (const code of [...codes.slice(1), neighbour])
    await apply(service, "reservations", [valid("n0", code)]);
  const lenient = { headers: { prefer: "handling=lenient" } };
  const batch = [
    invalid("n1", "NAMES1"),
    valid("n2", "NAMES0"),
    invalid("n3", "NAMES1"),
    invalid("n4", "NAMES2"),
    invalid("n5", neighbour),
    invalid("n6", 7),
    invalid("n7", "NAMES0"),
    invalid("n8", "NEVER"),
    "no record",
  ];
  const requestId = await apply(service, "reservations", batch, lenient);
  const counted = [];
  for (const code of [...codes, neighbour]) {
    const { batches, records, rejected } = (await healthOf(code)).feed("reservations");
    counted.push([batches, records, rejected]);
  }
  assert.deepEqual(counted, [
    [1, 4, 3],
    [2, 3, 2],
    [2, 2, 1],
    [2, 2, 1],
  ]);
  const answer = (await service.get(`/api/public/v1/requests/${requestId}`)).json();
  const { records, pending, applied, rejected } = answer["counts"] as Record<string, number>;
  assert.deepEqual([answer["status"], records, pending, applied, rejected], ["applied", 9, 0, 1, 8]);
});

test("nights without a record, and nights omitted by the last push, are reported", async () => {
  const propertyCode = "NIGHTS";
  await setSetting(
    service.pool,
    { clientCode: "ACME", propertyCode, name: "timeZone" },
    "Pacific/Kiritimati",
  );
  const push = (days: readonly number[], today: string) =>
    apply(
      service,
      "inventories",
      days.map((day) => inventory(addDays(today, day), secondsAgo(10), { propertyCode })),
    );
  // The first batch makes the property known, and its business day with it.
  await push([0], new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10));
  const today = (await healthOf(propertyCode)).businessDay;
  assert.equal(today, new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10));
  const first = Array.from({ length: 60 }, (_, day) => day).filter((day) => day !== 7);
  await push([...first, -1], today);
  const before = (await healthOf(propertyCode)).feed("inventories");
  assert.deepEqual(before.missingNights, [addDays(today, 7)]);
  assert.deepEqual([before.nightsTo, before.staleNightCount], [addDays(today, 59), 0]);
  // That was yesterday.
  for (const table of ["bellhop.feed_arrival", "bellhop_state.current_record"]) {
    const columns =
      table === "bellhop.feed_arrival" ? ["first_request_id", "last_request_id"] : ["request_id"];
    for (const name of columns) {
      const { rows } = await service.pool.query<{ request_id: string; moved: string }>(
        `select ${name} as request_id,
          analytics.first_request_id_after(analytics.received_at_of(${name}) - interval '1 day') as moved
        from ${table}
        where property_id = (select property_id from bellhop.property where property_code = 'NIGHTS')
        group by ${name}`,
      );
      for (const { request_id: requestId, moved } of rows)
        await service.pool.query(`update ${table} set ${name} = $2 where ${name} = $1`, [requestId, moved]);
    }
  }
  await push(
    first.filter((day) => day !== 20 && day !== 33),
    today,
  );
  const now = (await healthOf(propertyCode)).feed("inventories");
  assert.deepEqual(now.missingNights, [addDays(today, 7)]);
  assert.deepEqual(now.staleNights, [addDays(today, 20), addDays(today, 33)]);
  assert.deepEqual([now.missingNightCount, now.staleNightCount], [1, 2]);
  assert.ok(Math.abs((now.cadenceHours ?? 0) - 24) < 0.1);
  assert.ok(Date.now() - Date.parse(now.lastPushAt ?? "") < 600_000);
});

test("a feed is silent once its cadence has passed, according to the current setting", async () => {
  const propertyCode = "SILENT";
  await apply(service, "inventories", [inventory("2026-07-14", secondsAgo(10), { propertyCode })]);
  assert.equal((await healthOf(propertyCode)).feed("inventories").silent, false);
  const of = { clientCode: "ACME", propertyCode, name: "cadence.inventories" };
  await setSetting(service.pool, of, "0.001");
  await until(async () => (await healthOf(propertyCode)).feed("inventories").silent, 20_000);
  const { silentHours, expectedCadenceHours } = (await healthOf(propertyCode)).feed("inventories");
  assert.deepEqual([expectedCadenceHours, (silentHours ?? -1) >= 0], [0.001, true]);
  await setSetting(service.pool, of, "none");
  assert.equal((await healthOf(propertyCode)).feed("inventories").silent, false);
});

test("unmapped statuses are reported with the records that carry them", async () => {
  const propertyCode = "LABELS";
  await apply(
    service,
    "reservations",
    ["a", "b", "c"].map((id) =>
      reservation(id, "2026-01-01T00:00:00Z", { propertyCode, status: id === "c" ? "CONFIRMED" : "ON HOLD" }),
    ),
  );
  const before = await healthOf(propertyCode);
  assert.deepEqual(before.feed("reservations").unmappedLabels, [{ label: "ON HOLD", records: 2 }]);
  await mapStatus(service.pool, { clientCode: "ACME", resource: "reservations", status: "ON HOLD" }, false);
  const mapped = await healthOf(propertyCode);
  assert.deepEqual(mapped.feed("reservations").unmappedLabels, []);
  assert.equal(mapped.settingsVersion, before.settingsVersion + 1);
});

test("accepted but unapplied batches are counted", async () => {
  const accepting = await startTestService({ roles: ["accept", "read"] });
  try {
    const one = reservation("w1", "2026-01-01T00:00:00Z", { propertyCode: "WAITS" });
    await accept(accepting, "reservations", [one]);
    await accept(accepting, "reservations", [{ ...one, channel: "FAX" }]);
    // Of another tenant, in the same bucket: none of this one's business.
    const codes = Array.from({ length: 2_000 }, (_, n) => `N${n}`);
    const neighbour = codes.find((code) => bucketOf("NEAR", code) === bucketOf("ACME", "WAITS"));
    const as = await accepting.newClient({ grants: [{ clientCode: "NEAR", propertyCode: "*" }] });
    const foreign = { ...one, clientCode: "NEAR", propertyCode: neighbour };
    assert.equal((await accepting.post("reservations", [foreign], { as })).status, 202);
    const { waiting, oldestWaitingAt, lastReceivedAt } = (await healthOf("WAITS", accepting)).feed(
      "reservations",
    );
    assert.equal(waiting, 2);
    assert.ok(Date.now() - Date.parse(oldestWaitingAt ?? "") < 60_000);
    assert.equal(lastReceivedAt, null);
  } finally {
    await accepting.stop();
  }
});
