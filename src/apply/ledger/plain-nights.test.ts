import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readRecord } from "#contract/read-record.ts";
import { spanNights } from "./span-nights.ts";
import { reservationNights } from "./stay-runs.ts";
import { textNights } from "./text-nights.ts";

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 1, 25) / DAY_MS;
const dateOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);
/** Mostly the first, so that most records are plain. */
const mostly = <Value>(usual: fc.Arbitrary<Value>, ...others: Value[]) =>
  fc.oneof({ weight: 30, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const date = mostly(fc.nat(12), 80, 90).map((after) => dateOf(FIRST + after));
const dates = fc.tuple(date, date).map((two) => two.sort() as [string, string]);
const money = mostly(
  fc.constantFrom<string | number>("100", "100.00", "120.5", 99.95, 0, "-3.10"),
  ...["0.00001", "123456789012345.6", 7.1e3],
);
const count = mostly(fc.constantFrom<string | number>(0, 1, 2, "3"), -1, 999_999_999, 2_147_483_647);
const code = mostly(fc.constantFrom("DLX", "STD", "NULL", "a,b", ""), "Familie groß", "{}", '"');

/** Members that may be left out, or null where the contract shows null. */
const members = <Shape extends Record<string, fc.Arbitrary<unknown>>>(shape: Shape) =>
  fc.record(shape, { requiredKeys: [] });

const rateOf = ([first, last]: readonly [string, string]) =>
  fc
    .tuple(members({ rateValue: money, grossRateValue: money }), fc.boolean(), fc.boolean())
    .map(([amounts, hasStart, hasEnd]) => ({
      ...(hasStart ? { startDate: first } : {}),
      ...(hasEnd ? { endDate: last } : {}),
      ...amounts,
    }));
const rate = dates.chain(rateOf);
const stay = dates.chain((within) =>
  members({
    bookedRoomTypeCode: code,
    marketSegmentCode: code,
    groupBlockCode: code,
    rateCode: code,
    currencyCode: code,
    numberOfAdults: count,
    numberOfChildren: count,
    rates: fc.array(fc.oneof(rateOf(within), rate), { maxLength: 3 }),
  }).map((rest) => ({ arrivalDate: within[0], departureDate: within[1], roomTypeCode: "DLX", ...rest })),
);
const reservation = fc
  .tuple(
    members({ numberOfRooms: count, shareId: code, channel: code }),
    fc.array(stay, { minLength: 1, maxLength: 2 }),
    fc.array(fc.tuple(fc.nat(12), members({ netRoomRevenue: money })), { maxLength: 4 }),
  )
  .map(([rest, roomStays, daily]) => {
    const [first] = roomStays;
    const arrival = Date.parse(first?.arrivalDate ?? "") / DAY_MS;
    const nights = Date.parse(first?.departureDate ?? "") / DAY_MS - arrival;
    return {
      clientCode: "ACME",
      propertyCode: "LON01",
      reservationId: "R1",
      status: "CONFIRMED",
      lastModifiedDateTime: "2026-01-01T00:00:00Z",
      ...rest,
      roomStays,
      stayRevenue: {
        daily: daily.map(([after, amounts]) => ({
          occupancyDate: dateOf(arrival + (after % (nights + 1))),
          ...amounts,
        })),
      },
    };
  });

test("nights of plain reservations, by where facts stand in a record's bytes and in one walk over their text, are those of the text", () => {
  const plain = { spans: 0, text: 0 };
  fc.assert(
    fc.property(reservation, (record) => {
      const { facts, status } = readRecord("reservations", Buffer.from(JSON.stringify(record))).content();
      const bytes = Buffer.alloc(facts.bytesMax());
      const text = bytes.toString("utf8", 0, facts.write(bytes, 0));
      const expected = reservationNights(text, status);
      const bySpans = facts.spans === undefined ? undefined : spanNights(facts.spans, status);
      if (bySpans !== undefined) {
        plain.spans += 1;
        assert.deepEqual(bySpans, expected);
      }
      const byText = textNights(text, status);
      if (byText !== undefined) {
        plain.text += 1;
        assert.deepEqual(byText, expected);
      }
    }),
    { numRuns: 5_000 },
  );
  assert.ok(plain.spans > 500 && plain.text > 500, `${JSON.stringify(plain)} of 5000 were plain`);
});
