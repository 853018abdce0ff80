import { dateOfDay, dayOf, instantOf } from "./calendar-day.ts";
import { inventName } from "./invented-people.ts";
import { type Message, type Moment, messagesOf } from "./message.ts";
import type { PlacedBooking } from "./reservation-feed.ts";
import type { SeededRandom } from "./seeded-random.ts";

const STATUSES = ["PROSPECT", "TENTATIVE", "DEFINITE"];
const NIGHTS_MAX = 10;

/** The group a booking of the market segment "Groups" is picked up from: those arriving in one week share a block. */
export function groupCodeOf(marketSegment: string, arrivalDate: string): string | null {
  if (marketSegment !== "Groups") return null;
  return `GRP${Math.floor(dayOf(arrivalDate) / 7)}`;
}

function blocksAt(members: readonly PlacedBooking[], first: number, last: number, asOfDay: number): object[] {
  const roomTypes = [...new Set(members.map(({ booking }) => booking.reservedRoomType))].sort();
  const blocks: object[] = [];
  for (let day = first; day <= last; day += 1) {
    for (const roomTypeCode of roomTypes) {
      const staying = members.filter(({ booking }) => {
        const arrival = dayOf(booking.arrivalDate);
        return booking.reservedRoomType === roomTypeCode && arrival <= day && day < arrival + booking.nights;
      });
      if (staying.length === 0) continue;
      const picked = staying.filter(
        ({ booking }) => !booking.canceled && dayOf(booking.arrivalDate) - booking.leadDays <= asOfDay,
      );
      const cents = Math.round(
        staying.reduce((sum, { booking }) => sum + booking.rateCents, 0) / staying.length,
      );
      blocks.push({
        occupancyDate: dateOfDay(day),
        roomTypeCode,
        blocks: staying.length + 1,
        pickup: picked.length,
        originalBlocks: staying.length + 2,
        singlePersonRate: cents / 100,
        twoPersonRate: (cents + 1_500) / 100,
        currencyCode: "EUR",
      });
    }
  }
  return blocks;
}

/**
 * The block masters of one property. The data set has no blocks: a block is what the bookings of a week ask for and one
 * room more, its pickup is what of them had been booked by then, and its status goes from prospect to definite.
 */
export function groupMessages(
  clientCode: string,
  propertyCode: string,
  placed: readonly PlacedBooking[],
  random: SeededRandom,
): Message[] {
  const groups = new Map<string, PlacedBooking[]>();
  for (const member of placed) {
    if (member.groupCode === null || member.booking.nights === 0) continue;
    groups.set(member.groupCode, [...(groups.get(member.groupCode) ?? []), member]);
  }
  return [...groups].flatMap(([groupCode, members]) => {
    const arrivals = members.map(({ booking }) => dayOf(booking.arrivalDate));
    const departures = members.map(({ booking }) => dayOf(booking.arrivalDate) + booking.nights);
    const first = Math.min(...arrivals);
    const last = Math.min(first + NIGHTS_MAX, Math.max(...departures) - 1);
    const bookingDay =
      Math.min(...members.map(({ booking }) => dayOf(booking.arrivalDate) - booking.leadDays)) - 30;
    const salesPerson = inventName(random);
    const moments = [...STATUSES, "DEFINITE", "DEFINITE"].map((groupStatusCode, at, all): Moment => {
      const asOfDay = bookingDay + Math.floor(((first - bookingDay) * at) / (all.length - 1));
      const content = {
        groupCode,
        masterGroupCode: null,
        name: `Week group ${groupCode}`,
        description: `${members.length} bookings of one week`,
        bookingDate: dateOfDay(bookingDay),
        groupStatusCode,
        startDate: dateOfDay(first),
        endDate: dateOfDay(last),
        cutoffDays: 14,
        cutoffDate: dateOfDay(first - 14),
        groupTypeCode: "LEISURE",
        pickupTypeCode: "INDIVIDUAL",
        marketSegmentCode: "GROUPS",
        rateCode: "GRP",
        salesPerson,
        groupBlocks: blocksAt(members, first, last, asOfDay),
        services: [],
      };
      return { atMs: instantOf(asOfDay, random.between(0, 80_000)), content };
    });
    const subject = { clientCode, propertyCode, key: groupCode };
    return messagesOf(
      { ...subject, resource: "groups", sourceTimeField: "lastModifiedDateTime" },
      moments,
      random,
    );
  });
}
