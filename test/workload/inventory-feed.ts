import { dateOfDay, dayOf, instantOf } from "./calendar-day.ts";
import { type Message, type Moment, messagesOf } from "./message.ts";
import type { PlacedBooking } from "./reservation-feed.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** Days before the date at which the property sends its counts: as bookings come in, they grow. */
const LOOKS_AHEAD_DAYS = [60, 14, 2];

interface Night {
  readonly bookedDay: number;
  readonly roomType: string;
  readonly group: boolean;
}

function nightsByDate(placed: readonly PlacedBooking[]): Map<number, Night[]> {
  const nights = new Map<number, Night[]>();
  for (const { booking, groupCode } of placed) {
    if (booking.canceled) continue;
    const arrivalDay = dayOf(booking.arrivalDate);
    for (let day = arrivalDay; day < arrivalDay + booking.nights; day += 1) {
      const night = {
        bookedDay: arrivalDay - booking.leadDays,
        roomType: booking.reservedRoomType,
        group: groupCode !== null,
      };
      const ofDay = nights.get(day);
      if (ofDay === undefined) nights.set(day, [night]);
      else ofDay.push(night);
    }
  }
  return nights;
}

/**
 * The inventory of one property: for each date with a stay, rooms sold by room type, counted from bookings at three
 * points in time. Capacity is invented: a fifth above the fullest night, sometimes too low (overbooking is legal).
 */
export function inventoryMessages(
  clientCode: string,
  propertyCode: string,
  placed: readonly PlacedBooking[],
  datesMax: number,
  random: SeededRandom,
): Message[] {
  const nights = nightsByDate(placed);
  const roomTypes = [...new Set(placed.map(({ booking }) => booking.reservedRoomType))].sort();
  const fullest = new Map(roomTypes.map((type) => [type, 1]));
  for (const ofDay of nights.values()) {
    for (const type of roomTypes) {
      const sold = ofDay.filter(({ roomType }) => roomType === type).length;
      fullest.set(type, Math.max(fullest.get(type) ?? 1, sold));
    }
  }
  const days = [...nights.keys()].sort((left, right) => left - right);
  const step = Math.max(1, Math.floor(days.length / datesMax));
  return days
    .filter((_, at) => at % step === 0)
    .flatMap((day) => {
      const outOfOrder = random.between(0, 2);
      const moments = LOOKS_AHEAD_DAYS.map((ahead): Moment => {
        const counts = roomTypes.map((type) => {
          const sold = (nights.get(day) ?? []).filter(
            (night) => night.roomType === type && night.bookedDay <= day - ahead,
          );
          const group = sold.filter((night) => night.group).length;
          return {
            roomTypeCode: type,
            roomTypeCapacity: Math.ceil((fullest.get(type) ?? 1) * (random.chance(0.02) ? 0.8 : 1.2)),
            roomsNotAvailableMaintenance: type === roomTypes[0] ? outOfOrder : 0,
            roomsNotAvailableOther: 0,
            roomsSold: sold.length,
            transientSold: sold.length - group,
            groupSold: group,
          };
        });
        const content = { occupancyDate: dateOfDay(day), roomTypeInventories: counts };
        return { atMs: instantOf(day - ahead, random.between(0, 80_000)), content };
      });
      const subject = { clientCode, propertyCode, key: dateOfDay(day) };
      return messagesOf(
        { ...subject, resource: "inventories", sourceTimeField: "createDateTime" },
        moments,
        random,
      );
    });
}
