import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { reservation } from "./records.ts";
import { itemsOf, untilApplied } from "./service-of-a-page.ts";

const LON01 = "clientCode=ACME&propertyCode=LON01";

interface Version {
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly outcome: string;
  readonly record: { readonly status: string };
}

/**
 * Page 9. Nothing is overwritten without its earlier version being kept. So one can read what is current, what was known at
 * any instant, and every version that a record ever had. Records come back as the very bytes that were sent.
 */
describe("09 reading back", () => {
  let service: TestService;
  const versions = () =>
    itemsOf<Version>(service, `/api/public/v1/reservations/history?${LON01}&reservationId=R-1`);
  before(async () => {
    service = await startTestService();
    // Three versions; the second arrives after the third.
    for (const [lastModifiedDateTime, status] of [
      ["2025-06-01T09:00:00Z", "RESERVED"],
      ["2025-06-03T09:00:00Z", "CANCELLED"],
      ["2025-06-02T09:00:00Z", "CONFIRMED"],
    ] as const) {
      const batch = [reservation("R-1", lastModifiedDateTime, status)];
      await untilApplied(service, await service.post("reservations", batch));
    }
    await untilApplied(
      service,
      await service.post("reservations", [reservation("R-2", "2025-06-01T09:00:00Z")]),
    );
  });
  after(() => service.stop());

  test("the current records of a hotel, also by the dates they are about and by status", async () => {
    assert.equal((await itemsOf(service, `/api/public/v1/reservations?${LON01}`)).length, 2);
    const inJuly = await itemsOf(
      service,
      `/api/public/v1/reservations?${LON01}&from=2025-07-01&to=2025-07-31`,
    );
    assert.equal(inJuly.length, 2);
    const cancelled = await itemsOf<{ reservationId: string }>(
      service,
      `/api/public/v1/reservations?${LON01}&status=CANCELLED`,
    );
    assert.deepEqual(
      cancelled.map(({ reservationId }) => reservationId),
      ["R-1"],
    );
  });

  test("every version of one record in the order of source time, the late one in its place", async () => {
    assert.deepEqual(
      (await versions()).map(({ record, outcome }) => [record.status, outcome]),
      [
        ["RESERVED", "applied"],
        ["CONFIRMED", "stale"],
        ["CANCELLED", "applied"],
      ],
    );
  });

  test("the state at an instant: before the cancellation was received, it was reserved", async () => {
    const [reserved] = await versions();
    const path = `/api/public/v1/reservations?${LON01}&reservationId=R-1&asOf=${reserved?.receivedAt}`;
    const [then] = await itemsOf<{ status: string }>(service, path);
    assert.equal(then?.status, "RESERVED");
  });

  test("long lists are paged: nextCursor requests the next page, null ends them", async () => {
    const first = (await service.get(`/api/public/v1/reservations?${LON01}&limit=1`)).json();
    const cursor = first["nextCursor"] as string;
    assert.equal((first["items"] as unknown[]).length, 1);
    const second = (
      await service.get(`/api/public/v1/reservations?${LON01}&limit=1&cursor=${cursor}`)
    ).json();
    assert.equal((second["items"] as unknown[]).length, 1);
    assert.equal(second["nextCursor"], null);
  });

  test("an unknown parameter is an error, because ignoring a filter would return wrong data", async () => {
    const answer = await service.get(`/api/public/v1/reservations?${LON01}&stauts=CANCELLED`);
    assert.equal(answer.status, 400);
    assert.equal(answer.json()["exception"], "bellhop.http.InvalidParameter");
  });
});
