import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import type { LooseRecord } from "../support/records.ts";
import {
  DISCREPANCIES,
  FIRST_NIGHT,
  LAST_NIGHT,
  type PlantedHotel,
  plantedHotel,
} from "./planted-discrepancies.ts";

/** Rooms by night and room type: what inventory reports less what reservations come to, where it is not 0. */
function differencesOf({ reservations, inventories }: PlantedHotel): Record<string, number> {
  const rooms = new Map<string, number>();
  const add = (night: string, roomType: string, count: number) => {
    const key = `${night} ${roomType}`;
    rooms.set(key, (rooms.get(key) ?? 0) + count);
  };
  const shares = new Set<string>();
  for (const { status, numberOfRooms, shareId, roomStays } of reservations) {
    for (const { arrivalDate, departureDate, roomTypeCode } of roomStays as LooseRecord[]) {
      if (status !== "CONFIRMED" || shares.has(shareId)) continue;
      if (shareId !== undefined) shares.add(shareId);
      for (let day = Number(arrivalDate.slice(8)); day < Number(departureDate.slice(8)); day += 1)
        add(`2026-09-${String(day).padStart(2, "0")}`, roomTypeCode, -numberOfRooms);
    }
  }
  for (const { occupancyDate, roomTypeInventories } of inventories)
    for (const { roomTypeCode, roomsSold } of roomTypeInventories as LooseRecord[])
      add(occupancyDate, roomTypeCode, roomsSold);
  return Object.fromEntries([...rooms].filter(([, count]) => count !== 0).sort());
}

test("a hotel without a discrepancy agrees on every night, and each planted one is the only one", () => {
  assert.deepEqual(differencesOf(plantedHotel()), {});
  for (const discrepancy of DISCREPANCIES) {
    const hotel = plantedHotel(discrepancy);
    const { nights = [], roomType, difference = 0, culprits = [] } = hotel.planted ?? {};
    assert.ok(nights.length > 0 && difference !== 0 && culprits.length > 0, discrepancy);
    assert.ok(nights.every((night) => FIRST_NIGHT <= night && night <= LAST_NIGHT));
    const expected = Object.fromEntries(nights.map((night) => [`${night} ${roomType}`, difference]));
    assert.deepEqual(differencesOf(hotel), expected, discrepancy);
  }
});

test("every record of a planted hotel is one that the contract accepts", () => {
  for (const discrepancy of DISCREPANCIES) {
    const { reservations, groups, inventories } = plantedHotel(discrepancy);
    for (const [resource, records] of Object.entries({ reservations, groups, inventories } as const)) {
      const batch = readBatch(Buffer.from(JSON.stringify(records)), { recordsMax: 100, depthMax: 16 });
      assert.ok(batch.ok);
      for (const record of batch.records)
        assert.deepEqual(checkRecord(resource as "groups", record, 10).violations, []);
    }
  }
});
