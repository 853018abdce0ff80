import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Money } from "#contract/money.ts";
import {
  COMPACT_MAX,
  compactOf,
  decodeCompact,
  encodeCompact,
  endOf,
  isCompactOf,
} from "./content-nights.ts";
import type { DimensionCodes, NightRun, ReservationNights } from "./reservation-nights.ts";

const HASH_DIGITS = 12;
const HASH = "0123456789abcdef0123456789abcdef";
const CODES: DimensionCodes = {
  status: "CONFIRMED",
  roomTypeCode: "DLX",
  bookedRoomTypeCode: null,
  marketSegmentCode: null,
  groupBlockCode: null,
  rateCode: "BAR",
  channel: null,
  currencyCode: "EUR",
  cause: null,
};

const dimensions = fc.constantFrom(
  { high: 0, low: 0 },
  { high: -1, low: -1 },
  { high: 2_147_483_647, low: -2_147_483_648 },
  { high: 19, low: 1_234_567 },
);

const amount: fc.Arbitrary<Money | null> = fc.oneof(
  fc.integer({ min: -2_000_000, max: 9_000_000 }),
  fc.constantFrom(null, 0, 5e14, -5e14),
);
const counts = (most: number) => fc.oneof(fc.nat(4), fc.constantFrom(most, -most));
const plain = fc
  .record({
    rooms: counts(COMPACT_MAX.rooms),
    adults: counts(COMPACT_MAX.guests),
    children: counts(COMPACT_MAX.guests),
    firstNight: fc.oneof(fc.integer({ min: 18_000, max: 22_000 }), fc.constantFrom(0, 120_000)),
    runs: fc.array(fc.tuple(fc.integer({ min: 1, max: COMPACT_MAX.nightsOfRun }), amount, amount), {
      maxLength: 62,
    }),
  })
  .map(({ firstNight, runs, ...numbers }): ReservationNights => {
    let night = firstNight;
    return {
      shareId: null,
      runs: runs.map(([nights, roomRevenue, grossRoomRevenue]) => {
        const run = { ...numbers, firstNight: night, nights, roomRevenue, grossRoomRevenue, codes: CODES };
        night += nights;
        return run;
      }),
    };
  });

describe("nights in short", () => {
  test("say of a plain reservation what its runs do, and so does their text", () => {
    fc.assert(
      fc.property(plain, dimensions, (nights, dimension) => {
        const compact = compactOf(nights, () => dimension);
        assert.ok(compact !== null);
        const text = encodeCompact(compact, HASH);
        assert.match(text, /^(?:[0-9a-f]{2})+$/);
        assert.ok(isCompactOf(text, HASH));
        assert.deepEqual(decodeCompact(text), compact);
        let night = compact.firstNight;
        const runs = nights.runs.map((_, at): Omit<NightRun, "codes"> => {
          const [length, revenue, gross] = compact.runs.slice(at * 3, at * 3 + 3) as [number, number, number];
          const orNull = (number: number) => (Number.isNaN(number) ? null : number);
          const { rooms, adults, children } = compact;
          const firstNight = night;
          night += length;
          const amounts = { roomRevenue: orNull(revenue), grossRoomRevenue: orNull(gross) };
          return { firstNight, nights: length, rooms, adults, children, ...amounts };
        });
        assert.deepEqual(
          runs,
          nights.runs.map(({ codes: _, ...run }) => run),
        );
        assert.equal(compact.runs.length, 3 * nights.runs.length);
        if (nights.runs.length === 0) return;
        assert.deepEqual(compact.dimension, dimension);
        assert.equal(endOf(compact), night);
      }),
    );
  });

  const RUN: NightRun = {
    firstNight: 20_000,
    nights: 2,
    rooms: 1,
    adults: 2,
    children: 0,
    roomRevenue: 1_000_000,
    grossRoomRevenue: null,
    codes: CODES,
  };
  const next = { ...RUN, firstNight: 20_002 };
  const notPlain: Readonly<Record<string, ReservationNights>> = {
    "a shared room": { shareId: "S", runs: [RUN] },
    "more rooms than fit": { shareId: null, runs: [{ ...RUN, rooms: 512 }] },
    "fewer rooms than fit": { shareId: null, runs: [{ ...RUN, rooms: -512 }] },
    "more adults than fit": { shareId: null, runs: [{ ...RUN, adults: 1_024 }] },
    "more children than fit": { shareId: null, runs: [{ ...RUN, children: -1_024 }] },
    "a run of too many nights": { shareId: null, runs: [{ ...RUN, nights: 64 }] },
    "nights before 1970": { shareId: null, runs: [{ ...RUN, firstNight: -1 }] },
    "nights in 2328": { shareId: null, runs: [{ ...RUN, firstNight: 131_070 }] },
    "an amount that is too large": { shareId: null, runs: [{ ...RUN, roomRevenue: 5e14 + 1 }] },
    "an amount that no double holds": { shareId: null, runs: [{ ...RUN, grossRoomRevenue: "0.00001" }] },
    "a gap": { shareId: null, runs: [RUN, { ...next, firstNight: 20_003 }] },
    "other codes": { shareId: null, runs: [RUN, { ...next, codes: { ...CODES, rateCode: "CORP" } }] },
    "other rooms": { shareId: null, runs: [RUN, { ...next, rooms: 2 }] },
    "other guests": { shareId: null, runs: [RUN, { ...next, adults: 1 }] },
    "more runs than a plain stay has": {
      shareId: null,
      runs: Array.from({ length: 63 }, (_, at) => ({ ...RUN, nights: 1, firstNight: 20_000 + at })),
    },
  };
  for (const [what, nights] of Object.entries(notPlain))
    test(`are not made of ${what}`, () => {
      assert.equal(
        compactOf(nights, () => ({ high: 1, low: 2 })),
        null,
      );
    });

  test("are not read from a text that is cut off", () => {
    const compact = compactOf({ shareId: null, runs: [RUN, next] }, () => ({ high: -1, low: 2 }));
    assert.ok(compact !== null);
    const text = encodeCompact(compact, HASH);
    for (let length = HASH_DIGITS + 2; length < text.length; length += 2) {
      const read = decodeCompact(text.slice(0, length));
      assert.ok(
        read === null || (read.runs.length < compact.runs.length && read.runs.length > 0),
        text.slice(0, length),
      );
    }
  });

  test("belong to one content only", () => {
    const compact = compactOf({ shareId: null, runs: [RUN] }, () => ({ high: 1, low: 2 }));
    assert.ok(compact !== null);
    for (const other of ["0123456789aacdef0123456789abcdef", "f123456789abcdef0123456789abcdef"])
      assert.equal(isCompactOf(encodeCompact(compact, HASH), other), false);
  });
});
