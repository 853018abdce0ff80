import { dateOfDay } from "../test/workload/calendar-day.ts";
import { SeededRandom } from "../test/workload/seeded-random.ts";
import { PUSH_DATES, PUSH_ROOM_TYPES } from "./cases.ts";

const FIRST_DAY = 16_617;
const PROPERTIES = 10;
/** Of a push that follows another, so many dates have other counts; the rest is sent again unchanged. */
const CHANGED = 0.2;

function countsOf(random: SeededRandom): object[] {
  return Array.from({ length: PUSH_ROOM_TYPES }, (_, type) => {
    const capacity = 8 + 4 * type;
    const sold = random.between(0, capacity);
    const group = random.between(0, Math.floor(sold / 3));
    return {
      roomTypeCode: `RT${String(type + 1).padStart(2, "0")}`,
      roomTypeCapacity: capacity,
      roomsNotAvailableMaintenance: random.chance(0.05) ? 1 : 0,
      roomsNotAvailableOther: 0,
      roomsSold: sold,
      transientSold: sold - group,
      groupSold: group,
    };
  });
}

/**
 * Pushes of whole inventories (two years, twelve room types), one batch of records each: every property's first, then
 * every property's next, which repeats most dates unchanged under a newer time, as a nightly push does.
 */
export function inventoryPushes(seed: number, pushes: number): string[][] {
  const random = SeededRandom.stream(seed, 3);
  const counts = new Map<string, object[]>();
  return Array.from({ length: pushes }, (_, push) => {
    const propertyCode = `PUSH${String((push % PROPERTIES) + 1).padStart(2, "0")}`;
    const sentAt = new Date(Date.UTC(2015, 5, 1 + Math.floor(push / PROPERTIES), 2)).toISOString();
    return Array.from({ length: PUSH_DATES }, (_, date) => {
      const occupancyDate = dateOfDay(FIRST_DAY + date);
      const place = `${propertyCode} ${occupancyDate}`;
      let ofDate = counts.get(place);
      if (ofDate === undefined || random.chance(CHANGED)) {
        ofDate = countsOf(random);
        counts.set(place, ofDate);
      }
      return JSON.stringify({
        clientCode: "ALGARVE",
        propertyCode,
        createDateTime: `${sentAt.slice(0, 19)}Z`,
        occupancyDate,
        roomTypeInventories: ofDate,
      });
    });
  });
}
