import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { type CompactNights, RUN_NUMBERS, RUNS_MAX } from "../../src/apply/ledger/content-nights.ts";
import { type LedgerDelta, writeAsEntries, writeDeltas } from "../../src/apply/ledger/write-ledger.ts";
import { openStateSession } from "../../src/apply/state/look-up.ts";
import { nightEntriesOf } from "../../src/apply/state/state-schema.ts";
import { isDistributed } from "../../src/platform/db/distribution.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const BUCKET = 7;
const DAY_MS = 86_400_000;
const dateOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);

const dimension = fc.constantFrom(
  { high: -1, low: -1 },
  { high: 2_147_483_647, low: -2_147_483_648 },
  { high: 19, low: 7 },
);
const amount = fc.oneof(
  fc.integer({ min: -50_000, max: 9_000_000 }),
  fc.constantFrom(Number.NaN, 0, 5e14, -5e14, 2 ** 32, -(2 ** 32), 2 ** 31),
);
const runs = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 3 }), amount, amount), { minLength: 1, maxLength: 3 })
  .map((all) => all.flat());
const nights: fc.Arbitrary<CompactNights> = fc.record({
  dimension,
  rooms: fc.constantFrom(1, 2, -1, 511, -511),
  adults: fc.constantFrom(0, 2, 1_023, -1_023),
  children: fc.constantFrom(0, 1, 1_023, -1_023),
  firstNight: fc.constantFrom(0, 20_000, 20_001, 20_040, 120_000),
  runs,
});
/** Often the same stay with other numbers, or the very same. */
const pairs = fc.oneof(
  fc.record({ from: fc.option(nights), to: fc.option(nights) }),
  nights.chain((from) => {
    const other = amount.map((number) => ({
      from,
      to: { ...from, runs: from.runs.map((was, at) => (at === 1 ? number : was)) },
    }));
    const more = fc.record({ rooms: fc.constantFrom(1, 3, -511), adults: fc.constantFrom(2, 5, -1_023) });
    const counted = more.map((counts) => ({ from, to: { ...from, ...counts } }));
    return fc.oneof(other, counted, fc.constant({ from, to: { ...from } }));
  }),
);

/** What a side says of each night, by night and dimension: rooms, adults, children, both amounts, and how many rooms tell each. */
function addNights(sums: Map<string, number[]>, side: CompactNights | null, by: number): void {
  let night = side?.firstNight ?? 0;
  for (let at = 0; side !== null && at < side.runs.length; at += RUN_NUMBERS) {
    const [length, revenue, gross] = side.runs.slice(at, at + RUN_NUMBERS) as [number, number, number];
    for (let left = length; left > 0; left -= 1, night += 1) {
      const { high, low } = side.dimension;
      const key = `${dateOf(night)} ${(BigInt(high) << 32n) | BigInt(low >>> 0)}`;
      const reported = [revenue, gross].flatMap((number) => [
        number || 0,
        Number.isNaN(number) ? 0 : side.rooms,
      ]);
      const numbers = [side.rooms, side.adults, side.children, ...reported];
      const sum = sums.get(key) ?? numbers.map(() => 0);
      sums.set(
        key,
        sum.map((number, place) => number + by * (numbers[place] as number)),
      );
    }
  }
}

const isSomething = (numbers: readonly number[]) => numbers.some((number) => number !== 0);
const lines = (sums: Map<string, number[]>) =>
  [...sums]
    .filter(([, numbers]) => isSomething(numbers))
    .map(([key, numbers]) => `${key}: ${numbers.map((number) => number + 0).join(" ")}`)
    .sort();

describe("an delta of nights", () => {
  let database: TestDatabase;
  let client: pg.Client;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await openStateSession(client, "bellhop_state");
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  async function entered(key: string): Promise<{ readonly table: string; readonly nights: number }[]> {
    const { rows } = await client.query<{ table: string; nights: number }>(
      `select 'ledger_delta' as table, nights from ledger_delta where key = $1
       union all select 'night_entry', nights from night_entry where key = $1`,
      [key],
    );
    return rows;
  }

  async function summed(key: string): Promise<Map<string, number[]>> {
    const { rows } = await client.query<{ key: string; numbers: number[] }>(
      `select concat_ws(' ', first_night + passed, dimension) as key,
         array[sum(rooms), sum(adults), sum(children), coalesce(sum(room_revenue) * 10000, 0),
           coalesce(sum(rooms) filter (where room_revenue is not null), 0), coalesce(sum(gross_room_revenue) * 10000, 0),
           coalesce(sum(rooms) filter (where gross_room_revenue is not null), 0)]::float8[] as numbers
       from ${nightEntriesOf("bellhop_state", "key = $1")} as run
       cross join lateral generate_series(0, run.nights - 1) as passed
       group by first_night + passed, dimension`,
      [key],
    );
    return new Map(rows.map(({ key: what, numbers }) => [what, numbers]));
  }

  let tried = 0;
  const enter = async (
    sides: Pick<LedgerDelta, "from" | "to">,
    form?: typeof writeAsEntries,
  ): Promise<string> => {
    tried += 1;
    const key = `R${tried}`;
    await (form ?? writeDeltas)(client, [
      {
        of: { bucket: BUCKET, propertyId: 1, resource: "r", key },
        sourceTime: "2026-01-01T00:00:00.000000Z",
        countsFrom: "01900000-0000-7000-8000-000000000000",
        ...sides,
      },
    ]);
    return key;
  };

  test("sums to the difference between two stays, night by night, also as entries", async () => {
    const form = (await isDistributed(client))
      ? fc.constant(writeAsEntries)
      : fc.constantFrom(writeDeltas, writeAsEntries);
    await fc.assert(
      fc.asyncProperty(pairs, form, async (sides, write) => {
        const expected = new Map<string, number[]>();
        addNights(expected, sides.from, -1);
        addNights(expected, sides.to, 1);
        const key = await enter(sides, write);
        assert.deepEqual(lines(await summed(key)), lines(expected));
      }),
      { numRuns: 300 },
    );
  });

  const STAY: CompactNights = {
    dimension: { high: 1, low: 2 },
    rooms: 1,
    adults: 2,
    children: 0,
    firstNight: 20_000,
    runs: [2, 1_000_000, 1_100_000, 1, 1_200_000, Number.NaN],
  };

  test("is nothing where the nights are the same, or there are none", async () => {
    for (const sides of [
      { from: STAY, to: { ...STAY, runs: [...STAY.runs] } },
      { from: null, to: { ...STAY, runs: [] } },
      { from: { ...STAY, runs: [] }, to: { ...STAY, firstNight: 20_005, runs: [] } },
    ])
      assert.deepEqual(await entered(await enter(sides)), []);
  });

  test("is read whole where it has as many runs as there can be, of one stay or of two", async () => {
    const changing = (nights: number, from: number): CompactNights => ({
      ...STAY,
      runs: Array.from({ length: nights }, (_, night) => [1, from + night, from - night]).flat(),
    });
    for (const sides of [
      { from: null, to: changing(RUNS_MAX, 100) },
      {
        from: changing(RUNS_MAX / 2, 100),
        to: { ...changing(RUNS_MAX / 2, 200), dimension: { high: 3, low: 4 } },
      },
    ]) {
      const expected = new Map<string, number[]>();
      addNights(expected, sides.from, -1);
      addNights(expected, sides.to, 1);
      assert.deepEqual(lines(await summed(await enter(sides))), lines(expected));
    }
  });

  test("is one row, or two if distant nights would make every query read it", async () => {
    const later = (days: number) => ({ from: STAY, to: { ...STAY, firstNight: STAY.firstNight + days } });
    assert.deepEqual(await entered(await enter(later(1))), [{ table: "ledger_delta", nights: 4 }]);
    assert.deepEqual(await entered(await enter(later(28))), [{ table: "ledger_delta", nights: 31 }]);
    assert.deepEqual(await entered(await enter(later(29))), [
      { table: "ledger_delta", nights: 3 },
      { table: "ledger_delta", nights: 3 },
    ]);
  });
});
