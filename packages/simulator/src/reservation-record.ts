import { agencyName, companyName, guestName } from "./guests.ts";
import type { HotelKind, HotelProfile, SegmentCode } from "./hotel-profile.ts";
import type { Reservation } from "./reservation.ts";
import { centsText, dateText, timeText, weekdayOf } from "./simulated-record.ts";

/**
 * A reservation as JSON text. It is put together from pieces: nothing in it needs escaping, and what a load generator spends here
 * is what it cannot send.
 */

/** Of the rate, in thousandths by weekday, Monday first; the mean is 1,000. */
const WEEKDAY_RATES: Readonly<Record<HotelKind, readonly number[]>> = {
  city: [1_020, 1_030, 1_030, 1_010, 980, 960, 970],
  resort: [980, 970, 970, 980, 1_030, 1_060, 1_010],
};
/** Meals of a person and day that the rate includes, in cents. */
const BOARD_CENTS: Readonly<Record<string, number>> = { BB: 900, HB: 2_400, FB: 3_600 };
const BREAKFAST_CENTS = 900;
/** Accommodation tax of Portugal, where the calibrated hotels stand. */
const GROSS_PERCENT = 106;
const RATE_CODES: Readonly<Record<SegmentCode, string>> = {
  OTA: "BAR",
  TOP: "TOUR",
  DIR: "WEB",
  COR: "CORP",
  GRP: "GROUP",
  CMP: "COMP",
  AVI: "CREW",
};
const SOURCES: Readonly<Record<SegmentCode, string>> = {
  OTA: "OTA",
  TOP: "WHOLESALE",
  DIR: "WEBSITE",
  COR: "CORPORATE",
  GRP: "SALES",
  CMP: "HOUSE",
  AVI: "AIRLINE",
};
const REASONS = ["Change of plans", "Found another hotel", "Illness", "Travel ban", "Duplicate booking"];

/** A room of the reservation on a night, in cents, net. */
function nightCents({ rateCents }: Pick<Reservation, "rateCents">, kind: HotelKind, day: number): number {
  return Math.round((rateCents * (WEEKDAY_RATES[kind][weekdayOf(day)] as number)) / 1_000);
}

function ratesText(reservation: Reservation, kind: HotelKind): string {
  const { planned, departure } = reservation;
  const lastDay = Math.max(planned.arrival, departure - 1);
  let text = "";
  for (let day = planned.arrival; day <= lastDay; ) {
    const cents = nightCents(reservation, kind, day);
    let end = day;
    while (end < lastDay && nightCents(reservation, kind, end + 1) === cents) end += 1;
    const gross = Math.round((cents * GROSS_PERCENT) / 100);
    text += `${text === "" ? "" : ","}{"startDate":"${dateText(day)}","endDate":"${dateText(end)}","rateValue":"${centsText(cents)}","grossRateValue":"${centsText(gross)}"}`;
    day = end + 1;
  }
  return text;
}

/** Net and gross of each night; what is spent beside the room is known after departure, or corrected then. */
function revenueText(reservation: Reservation, kind: HotelKind, moreCents: number): string {
  const { planned, departure, state, adults, corrections } = reservation;
  const isOver = state === "checked-out";
  const persons = (adults + planned.children) * planned.rooms;
  const food = (BOARD_CENTS[planned.board] ?? 0) * persons;
  const spent = isOver ? persons * (planned.guest % 1_400) : 0;
  const lastDay = Math.max(planned.arrival, departure - 1);
  let text = "";
  for (let day = planned.arrival; day <= lastDay; day += 1) {
    const isLast = day === lastDay;
    const room = nightCents(reservation, kind, day) * planned.rooms;
    const beverage = isOver ? Math.round((spent * (3 + (day % 5))) / 10) : 0;
    const other = isLast ? 750 * corrections : 0;
    const total = room + food + beverage + other + moreCents;
    const gross = Math.round((total * GROSS_PERCENT) / 100);
    text += `${text === "" ? "" : ","}{"occupancyDate":"${dateText(day)}","netRoomRevenue":"${centsText(room)}","netFoodRevenue":"${centsText(food)}","netBeverageRevenue":"${centsText(beverage)}","netOtherRevenue":"${centsText(other)}","netTotalRevenue":"${centsText(total)}","grossTotalRevenue":"${centsText(gross)}"}`;
  }
  return text;
}

function servicesText({ planned, departure }: Reservation): string {
  if (planned.board !== "BB") return "";
  return `{"startDate":"${dateText(planned.arrival)}","endDate":"${dateText(departure)}","serviceName":"Breakfast","serviceValue":${centsText(BREAKFAST_CENTS)},"inclusive":true,"reservationPackage":false,"roomRevenuePackage":false}`;
}

function profilesText({ guest, segment }: Reservation["planned"]): string {
  const person = `{"id":"G${guest}","name":"${guestName(guest)}","profileType":"GUEST","context":null}`;
  if (segment === "TOP" || segment === "OTA")
    return `${person},{"id":"A${(guest >>> 4) % 6}","name":"${agencyName(guest)}","profileType":"TRAVEL_AGENT","context":null}`;
  if (segment === "COR")
    return `${person},{"id":"C${(guest >>> 4) % 6}","name":"${companyName(guest)}","profileType":"COMPANY","context":"Negotiated rate"}`;
  return person;
}

function roomStayText(reservation: Reservation, { kind, roomTypes, tellsTextNumbers }: HotelProfile): string {
  const { planned, departure, type, bookedType, group, adults, roomNumber } = reservation;
  const { segment, board, arrival, children, infants } = planned;
  const quantity = (count: number) => (tellsTextNumbers ? `"${count}"` : String(count));
  const block = group === undefined ? "" : `"groupBlockCode":"${group.code}",`;
  const room = roomNumber === undefined ? "" : `"roomNumber":"${roomNumber}",`;
  const ages =
    children === 0
      ? ""
      : `"childAgeBuckets":[{"minimumAge":"2","maximumAge":"11","numberOfChildren":"${children}"}],`;
  return `{"arrivalDate":"${dateText(arrival)}","departureDate":"${dateText(departure)}","roomTypeCode":"${roomTypes[type]?.code}","bookedRoomTypeCode":"${roomTypes[bookedType]?.code}","marketSegmentCode":"${segment}",${block}"sourceBookingCode":"${SOURCES[segment]}",${room}"numberOfAdults":${quantity(adults)},"numberOfChildren":${quantity(children)},"numberOfInfants":${infants},"currencyCode":"EUR","rateCode":"${RATE_CODES[segment]}-${board}","rates":[${ratesText(reservation, kind)}],${ages}"services":[${servicesText(reservation)}]}`;
}

/** What a faulty hotel says otherwise. */
export interface WrongFields {
  readonly status?: string;
  readonly modifiedDay?: number;
  /** Added to each night's total, which then is not the sum of its parts. */
  readonly totalMoreCents?: number;
}

/** The reservation as it stands, or as a fault makes it look. */
export function reservationText(
  reservation: Reservation,
  profile: HotelProfile,
  wrong: WrongFields = {},
): string {
  const { planned, state, id, shareId, linkId, bookedDay, bookedSecond, modifiedDay, modifiedSecond } =
    reservation;
  const modified = timeText(wrong.modifiedDay ?? modifiedDay, modifiedSecond);
  const status = wrong.status ?? profile.vocabulary.stays[state];
  const link = linkId === undefined ? "null" : `"${linkId}"`;
  const share = shareId === undefined ? "" : `"shareId":"${shareId}",`;
  const cancelled =
    state === "cancelled"
      ? `"cancellationDateTime":"${modified}","cancellationReason":"${REASONS[planned.guest % REASONS.length]}"`
      : `"cancellationDateTime":null,"cancellationReason":null`;
  const isWanted = state !== "cancelled" && state !== "no-show";
  const revenue = isWanted
    ? `,"stayRevenue":{"daily":[${revenueText(reservation, profile.kind, wrong.totalMoreCents ?? 0)}]}`
    : "";
  return `{"clientCode":"${profile.clientCode}","propertyCode":"${profile.propertyCode}","correlationId":"${id}-${modifiedDay}-${modifiedSecond}","lastModifiedDateTime":"${modified}","reservationId":"${id}","confirmationNumber":"CN${planned.guest}","status":"${status}","bookingDateTime":"${timeText(bookedDay, bookedSecond)}","numberOfRooms":${planned.rooms},"multiReservationId":${link},${share}${cancelled},"channel":"${planned.channel}","nationality":"${planned.nationality}","roomStays":[${roomStayText(reservation, profile)}],"profiles":[${profilesText(planned)}]${revenue}}`;
}
