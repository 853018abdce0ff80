import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { checkRecord } from "#contract/check-record.ts";
import { LIMITS, recordsOf } from "../contract/records.ts";
import { ApplyBench } from "../support/apply-bench.ts";

interface Rate {
  readonly startDate?: string;
  readonly endDate?: string;
  readonly rateValue: string;
}
interface Stay {
  readonly arrivalDate: string;
  readonly departureDate: string;
  readonly roomTypeCode: string;
  readonly rates?: readonly Rate[];
}
interface Booked {
  readonly status: string;
  readonly roomStays: readonly Stay[];
  readonly stayRevenue?: { readonly daily: readonly { occupancyDate: string; netRoomRevenue: string }[] };
}

const DAYS = 8;
const dateOf = (day: number): string => `2026-05-0${day}`;
const optional = { requiredKeys: [] as [] };

/** Two dates in their order; few days, so that stays, rates and revenue overlap. */
const period = fc
  .tuple(fc.integer({ min: 1, max: DAYS }), fc.integer({ min: 1, max: DAYS }))
  .map(([one, other]) => [dateOf(Math.min(one, other)), dateOf(Math.max(one, other))] as const);
const value = fc.integer({ min: 0, max: 99_999 }).map((cents) => (cents / 100).toFixed(2));

const rate: fc.Arbitrary<Rate> = fc
  .tuple(period, value, fc.boolean(), fc.boolean())
  .map(([[startDate, endDate], rateValue, starts, ends]) => ({
    rateValue,
    ...(starts ? { startDate } : {}),
    ...(ends ? { endDate } : {}),
  }));
const stay: fc.Arbitrary<Stay> = fc
  .tuple(
    period,
    fc.constantFrom("DLX", "STD", "SUITE"),
    fc.record({ rates: fc.array(rate, { maxLength: 3 }) }, optional),
  )
  .map(([[arrivalDate, departureDate], roomTypeCode, rates]) => ({
    arrivalDate,
    departureDate,
    roomTypeCode,
    ...rates,
  }));
const revenue = fc.record({
  daily: fc.array(
    fc.record({ occupancyDate: fc.integer({ min: 1, max: DAYS }).map(dateOf), netRoomRevenue: value }),
    { maxLength: 5 },
  ),
});
const booked: fc.Arbitrary<Booked> = fc
  .tuple(
    fc.constantFrom("CONFIRMED", "IN_HOUSE", "CANCELLED"),
    fc.array(stay, { minLength: 1, maxLength: 3 }),
    fc.record({ stayRevenue: revenue }, optional),
  )
  .map(([status, roomStays, more]) => ({ status, roomStays, ...more }));

/** Up to four contents of one reservation at as many source times, and an order in which they arrive. */
const history = fc.array(booked, { minLength: 1, maxLength: 4 }).chain((contents) => {
  const places = contents.map((_, at) => at);
  return fc.record({
    contents: fc.constant(contents),
    arrival: fc.shuffledSubarray(places, { minLength: places.length }),
  });
});

type NightRow = readonly [number, string, string, string, string | null, string | null];

/** What `docs/analytics.md` says of the nights of one content, in the plainest way. Money in hundredths, so it is exact. */
function nightsOf({ status, roomStays, stayRevenue }: Booked): NightRow[] {
  /** Of the stays that cover a date, the one that carries its revenue: the latest arrival, then the first listed. */
  const carrierOf = (date: string) =>
    roomStays
      .filter(({ arrivalDate, departureDate }) => arrivalDate <= date && date < departureDate)
      .toSorted((one, other) => other.arrivalDate.localeCompare(one.arrivalDate))[0];
  return roomStays.flatMap(({ arrivalDate, departureDate, roomTypeCode, rates = [] }, at) => {
    const nights = Array.from({ length: DAYS }, (_, day) => dateOf(day + 1)).filter(
      (date) => arrivalDate <= date && date < departureDate,
    );
    return nights.map((date): NightRow => {
      const covering = rates.findLast(
        ({ startDate = date, endDate = date }) => startDate <= date && date <= endDate,
      );
      const days = (stayRevenue?.daily ?? []).filter(({ occupancyDate }) => occupancyDate === date);
      const cents = days.reduce((sum, day) => sum + Math.round(Number(day.netRoomRevenue) * 100), 0);
      const carries = days.length > 0 && carrierOf(date) === roomStays[at];
      const net = carries ? (cents / 100).toFixed(2) : null;
      return [at + 1, date, status, roomTypeCode, covering?.rateValue ?? null, net];
    });
  });
}

describe("the overlay", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
    bench.startApplier();
  });
  after(() => bench.close());

  test("a newer record replaces the older one whole, nested arrays included, in whatever order they arrive", async () => {
    let keys = 0;
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), async ({ contents, arrival }, inOneBatch) => {
        keys += 1;
        const reservationId = `O${keys}`;
        const records = arrival.map((at) => ({
          clientCode: "ACME",
          propertyCode: "OVERLAY",
          reservationId,
          lastModifiedDateTime: `2026-01-01T00:00:0${at}Z`,
          ...contents[at],
        }));
        for (const record of recordsOf(JSON.stringify(records)))
          assert.equal(checkRecord("reservations", record, LIMITS.recordsMax).total, 0);
        if (inOneBatch) await bench.acceptAndApply(records);
        else for (const record of records) await bench.acceptAndApply([record]);
        const rows = await bench.rows<{ row: NightRow }>(
          `select json_build_array(stay_number, occupancy_date, status, room_type_code, rate_value::text,
            net_room_revenue::text) as row
          from analytics.stay_night where reservation_id = $1 order by stay_number, occupancy_date`,
          [reservationId],
        );
        assert.deepEqual(
          rows.map(({ row }) => row),
          nightsOf(contents.at(-1) as Booked),
        );
      }),
      { numRuns: 60 },
    );
  });
});
