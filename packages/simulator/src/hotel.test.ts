import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FoldedHotel } from "../../../test/simulated-hotels/folded-hotel.ts";
import { dayOf } from "../../../test/workload/calendar-day.ts";
import { Hotel } from "./hotel.ts";
import { hotelProfile } from "./hotel-profile.ts";
import { dayOfDate } from "./simulated-record.ts";

const START = dayOfDate("2025-05-20");
const DAYS = 40;
const HORIZON = 120;
const SEED = 7;
/** Checks one push in this many days, because recounting all reservations is slow. */
const LOOK_EVERY_DAYS = 13;

/** A hotel that may be overbooked, and one that may not. */
const NUMBERS = [1, 2];

for (const number of NUMBERS) {
  const { propertyCode, overbooks } = hotelProfile(SEED, number, "DEMO");
  describe(`${propertyCode}, read from its records alone`, () => {
    const hotel = new Hotel(number, {
      seed: SEED,
      clientCode: "DEMO",
      start: "2025-05-20",
      days: DAYS,
      horizonDays: HORIZON,
      faults: new Set(),
    });
    const folded = new FoldedHotel();
    const seen = {
      different: [] as unknown[],
      overfull: [] as unknown[],
      blocks: [] as unknown[],
      compared: 0,
      most: 0,
    };

    const look = (today: number) => {
      const counted = folded.counted();
      for (let day = today; day < today + HORIZON; day += 1) {
        const date = new Date(day * 86_400_000).toISOString().slice(0, 10);
        for (const reported of folded.inventories.get(date)?.roomTypeInventories ?? []) {
          const { transient = 0, group = 0 } = counted.get(`${day} ${reported.roomTypeCode}`) ?? {};
          seen.compared += 1;
          if (
            reported.transientSold !== transient ||
            reported.groupSold !== group ||
            reported.roomsSold !== transient + group
          )
            seen.different.push({ date, reported, transient, group });
          const more =
            reported.roomsSold +
            reported.roomsNotAvailableMaintenance +
            reported.roomsNotAvailableOther -
            reported.roomTypeCapacity;
          seen.most = Math.max(seen.most, more);
          if (more > (reported === folded.inventories.get(date)?.roomTypeInventories[0] ? overbooks : 0))
            seen.overfull.push({ date, reported });
        }
      }
      const pickedUp = folded.pickedUp();
      for (const [code, { groupBlocks }] of folded.groups) {
        for (const { occupancyDate, roomTypeCode, blocks, pickup } of groupBlocks) {
          const rebuilt = pickedUp.get(`${code} ${dayOf(occupancyDate)} ${roomTypeCode}`) ?? 0;
          // Guests who arrived before the first day are not reported.
          const isReported = dayOf(occupancyDate) >= START;
          if (pickup > blocks || (isReported && pickup !== rebuilt))
            seen.blocks.push({ code, occupancyDate, roomTypeCode, blocks, pickup, rebuilt });
        }
      }
    };

    for (const record of hotel.coldStart()) folded.take(record);
    look(START);
    for (let day = START; day < START + DAYS; day += 1) {
      for (const record of hotel.day(day)) folded.take(record);
      if ((day - START) % LOOK_EVERY_DAYS === 0 || day === START + DAYS - 1) look(day);
    }

    test("rooms sold equal the sum of reservations, night by night and type by type, after every push", () => {
      assert.ok(seen.compared > 1_000);
      assert.deepEqual(seen.different.slice(0, 3), []);
    });

    test("no room type is sold beyond its rooms, but where the hotel overbooks", () => {
      assert.deepEqual(seen.overfull.slice(0, 3), []);
    });

    test("a group's pickup is within its block and equals its reservations", () => {
      assert.ok(folded.groups.size > 5);
      assert.deepEqual(seen.blocks.slice(0, 3), []);
    });
  });
}
