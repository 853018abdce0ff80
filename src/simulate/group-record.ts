import type { GroupBlock } from "./group-block.ts";
import { groupName, guestName } from "./guests.ts";
import type { GroupState, HotelProfile } from "./hotel-profile.ts";
import { centsText, dateText, timeText } from "./simulated-time.ts";

const ACTIONS: Readonly<Record<GroupState, string>> = {
  tentative: "COMMIT",
  definite: "MODIFY",
  lost: "CANCEL",
  cancelled: "CANCEL",
};
/** For two in a room, of the rate for one. */
const TWO_PERSONS_PERCENT = 115;

/** A group block master as JSON text, as of a moment. */
export function groupText(group: GroupBlock, profile: HotelProfile, day: number, second: number): string {
  const { planned, state, code, nights, bookedDay, cancelledDay } = group;
  const { arrival, cutoffDays, name, rateCents } = planned;
  const rooms = planned.rooms.reduce((sum, count) => sum + count, 0);
  const two = Math.round((rateCents * TWO_PERSONS_PERCENT) / 100);
  const end = arrival + planned.nights;
  const cutoff = state === "tentative" ? "null" : `"${dateText(arrival - cutoffDays)}"`;
  const cancelled = cancelledDay === undefined ? "" : `"cancelDate":"${dateText(cancelledDay)}",`;
  const blocks = nights.map(
    (night) =>
      `{"occupancyDate":"${dateText(night.day)}","roomTypeCode":"${profile.roomTypes[night.type]?.code}","blocks":${night.blocks},"pickup":${night.pickup},"originalBlocks":${night.originalBlocks},"singlePersonRate":${centsText(rateCents)},"twoPersonRate":${centsText(two)},"currencyCode":"EUR"}`,
  );
  return `{"clientCode":"${profile.clientCode}","propertyCode":"${profile.propertyCode}","correlationId":"${code}-${day}","lastModifiedDateTime":"${timeText(day, second)}","groupCode":"${code}","masterGroupCode":null,"name":"${groupName(name)}","description":"${rooms} rooms, ${planned.nights} nights","action":"${ACTIONS[state]}","bookingDate":"${dateText(bookedDay)}","groupStatusCode":"${profile.vocabulary.groups[state]}","startDate":"${dateText(arrival)}","endDate":"${dateText(end)}","cutoffDays":${cutoffDays},"cutoffDate":${cutoff},${cancelled}"groupTypeCode":"GRP","pickupTypeCode":"ROOMING_LIST","marketSegmentCode":"GRP","rateCode":"GROUP","salesPerson":"${guestName(name >>> 3)}","groupBlocks":[${blocks.join(",")}],"services":[]}`;
}
