import type { RoomBooks } from "./front-desk.ts";
import type { HotelKind, HotelProfile, SegmentCode } from "./hotel-profile.ts";
import type { Reservation } from "./reservation.ts";
import { centsText, dateText, type SimulatedResource, timeText, weekdayOf } from "./simulated-record.ts";

export interface SimulatedRecord {
  readonly resource: SimulatedResource;
  readonly clientCode: string;
  readonly propertyCode: string;
  /** reservationId, groupCode or occupancyDate. */
  readonly key: string;
  /** When the hotel's system created it: day since 1970, second of the day (UTC). */
  readonly day: number;
  readonly second: number;
  readonly json: Buffer;
  readonly reservation?: Reservation;
}

/** Concatenates text, which is fast. No value needs escaping. */

/** Relative to the rate, in thousandths by weekday, Monday first; the mean is 1,000. */
const WEEKDAY_RATES: Readonly<Record<HotelKind, readonly number[]>> = {
  city: [1_020, 1_030, 1_030, 1_010, 980, 960, 970],
  resort: [980, 970, 970, 980, 1_030, 1_060, 1_010],
};
/** Meals included in the rate, in cents per person and day. */
const BOARD_CENTS: Readonly<Record<string, number>> = { BB: 900, HB: 2_400, FB: 3_600 };
const BREAKFAST_CENTS = 900;
/** Accommodation tax in Portugal, the location of the calibrated hotels. */
const GROSS_PERCENT = 106;
const CODES: Readonly<Record<SegmentCode, { readonly rate: string; readonly source: string }>> = {
  OTA: { rate: "BAR", source: "OTA" },
  TOP: { rate: "TOUR", source: "WHOLESALE" },
  DIR: { rate: "WEB", source: "WEBSITE" },
  COR: { rate: "CORP", source: "CORPORATE" },
  GRP: { rate: "GROUP", source: "SALES" },
  CMP: { rate: "COMP", source: "HOUSE" },
  AVI: { rate: "CREW", source: "AIRLINE" },
};
const REASONS = ["Change of plans", "Found another hotel", "Illness", "Travel ban", "Duplicate booking"];

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

/** Other spending is known after departure, or corrected later. */
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
  const company = (guest >>> 4) % AGENCIES.length;
  if (segment === "TOP" || segment === "OTA")
    return `${person},{"id":"A${company}","name":"${AGENCIES[company]}","profileType":"TRAVEL_AGENT","context":null}`;
  if (segment === "COR")
    return `${person},{"id":"C${company}","name":"${COMPANIES[company]}","profileType":"COMPANY","context":"Negotiated rate"}`;
  return person;
}

function roomStayText(reservation: Reservation, { kind, roomTypes, usesTextNumbers }: HotelProfile): string {
  const { planned, departure, type, bookedType, group, adults, roomNumber } = reservation;
  const { segment, board, arrival, children, infants } = planned;
  const quantity = (count: number) => (usesTextNumbers ? `"${count}"` : String(count));
  const block = group === undefined ? "" : `"groupBlockCode":"${group.code}",`;
  const room = roomNumber === undefined ? "" : `"roomNumber":"${roomNumber}",`;
  const ages =
    children === 0
      ? ""
      : `"childAgeBuckets":[{"minimumAge":"2","maximumAge":"11","numberOfChildren":"${children}"}],`;
  return `{"arrivalDate":"${dateText(arrival)}","departureDate":"${dateText(departure)}","roomTypeCode":"${roomTypes[type]?.code}","bookedRoomTypeCode":"${roomTypes[bookedType]?.code}","marketSegmentCode":"${segment}",${block}"sourceBookingCode":"${CODES[segment].source}",${room}"numberOfAdults":${quantity(adults)},"numberOfChildren":${quantity(children)},"numberOfInfants":${infants},"currencyCode":"EUR","rateCode":"${CODES[segment].rate}-${board}","rates":[${ratesText(reservation, kind)}],${ages}"services":[${servicesText(reservation)}]}`;
}

export interface WrongFields {
  readonly status?: string;
  readonly modifiedDay?: number;
  /** Makes each night's total differ from the sum of its parts. */
  readonly totalMoreCents?: number;
}

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

/** Invented people and companies; a guest number always has the same name. */

const FIRST_NAMES = [
  "Ana|João|Maria|José|Inês|Miguel|Camille|Théo|Léa|Hugo|Emma|Oliver|Amelia|Jack|Grace|Lukas|Mia",
  "Jürgen|Zoë|Søren|Freja|Łukasz|Zofia|Giulia|Marco|Lucía|Pablo|Chloé|Noah|Yuki|Wei|Priya|Arjun",
  "Fatima|Omar|Elif",
].flatMap((names) => names.split("|"));
const LAST_NAMES = [
  "Silva|Santos|Ferreira|Gonçalves|Martin|Bernard|Dubois|Smith|Jones|Taylor|Brown|Müller|Schmidt",
  "Weber|Nielsen|Jensen|Kowalski|Nowak|Rossi|Bianchi|García|Muñoz|Tanaka|Wang|Patel|Sharma|Haddad",
  "Yılmaz|O’Brien|de Vries|Andersson|Lindqvist",
].flatMap((names) => names.split("|"));
/** As many companies as agencies. */
const AGENCIES = "Atlas Travel|Blue Horizon|Meridian Tours|Sol e Mar|North Star Holidays|Viajes Iberia".split(
  "|",
);
const COMPANIES = "Lumen Software|Ocean Freight|Serra Energia|Baltic Timber|Orbit Pharma|Delta Consult".split(
  "|",
);
const EVENTS = "Congress|Wedding|Sales meeting|Choir tour|Cycling camp|Product launch|Alumni|Incentive".split(
  "|",
);

export function guestName(guest: number): string {
  return `${FIRST_NAMES[guest % FIRST_NAMES.length]} ${LAST_NAMES[(guest >>> 8) % LAST_NAMES.length]}`;
}

export function groupName(name: number): string {
  return `${EVENTS[name % EVENTS.length]} ${LAST_NAMES[(name >>> 8) % LAST_NAMES.length]}`;
}

const CHUNK_BYTES = 262_144;
/** UTF-8 bytes per UTF-16 code unit. */
const BYTES_A_CHARACTER_MAX = 3;

/** Encodes text into shared blocks: garbage collection of concatenated strings took half of a simulation's time. */
export class RecordBytes {
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;

  of(text: string): Buffer {
    const chunk = this.#room(text.length * BYTES_A_CHARACTER_MAX);
    const start = this.#at;
    this.#at += chunk.write(text, start, "utf8");
    return chunk.subarray(start, this.#at);
  }

  joined(text: string, rest: Uint8Array): Buffer {
    const chunk = this.#room(text.length + rest.length);
    const start = this.#at;
    const middle = start + chunk.write(text, start, "latin1");
    chunk.set(rest, middle);
    this.#at = middle + rest.length;
    return chunk.subarray(start, this.#at);
  }

  #room(bytes: number): Buffer {
    if (this.#at + bytes > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
      this.#at = 0;
    }
    return this.#chunk;
  }
}

/** Rooms counted in addition to those sold, as transient or only in the sum. */
export interface Miscounts {
  readonly transient: number;
  readonly sumOnly: number;
}

const NO_MISCOUNTS: Miscounts = { transient: 0, sumOnly: 0 };

/** The nightly push, one record per night. Caches unchanged nights. */
export class InventoryPush {
  readonly #profile: HotelProfile;
  readonly #books: RoomBooks;
  readonly #miscounts: (type: number, day: number) => Miscounts | undefined;
  readonly #head: string;
  readonly #rests = new Map<number, Buffer>();
  readonly #bytes = new RecordBytes();

  constructor(
    profile: HotelProfile,
    books: RoomBooks,
    miscounts: (type: number, day: number) => Miscounts | undefined,
  ) {
    this.#profile = profile;
    this.#books = books;
    this.#miscounts = miscounts;
    this.#head = `{"clientCode":"${profile.clientCode}","propertyCode":"${profile.propertyCode}","createDateTime":"`;
  }

  records(from: number, nights: number, day: number, second: number): SimulatedRecord[] {
    const { clientCode, propertyCode } = this.#profile;
    const head = this.#head + timeText(day, second);
    this.#rests.delete(from - 1);
    return Array.from({ length: nights }, (_, at) => {
      const night = from + at;
      const json = this.#bytes.joined(head, this.#restOf(night));
      return { resource: "inventories", clientCode, propertyCode, key: dateText(night), day, second, json };
    });
  }

  #restOf(day: number): Buffer {
    const books = this.#books;
    let rest = this.#rests.get(day);
    if (rest === undefined || books.isTouched(day)) {
      rest = Buffer.from(
        `","occupancyDate":"${dateText(day)}","roomTypeInventories":[${this.#typesText(day)}]${this.#virtualText(day)}}`,
      );
      this.#rests.set(day, rest);
      books.reported(day);
    }
    return rest;
  }

  #typesText(day: number): string {
    const books = this.#books;
    let text = "";
    for (let type = 0; type < books.types.length; type += 1) {
      const { code, rooms } = books.types[type] as (typeof books.types)[number];
      const wrong = this.#miscounts(type, day) ?? NO_MISCOUNTS;
      const transient = books.count("transient", type, day) + wrong.transient;
      const group = books.count("group", type, day);
      text += `${type === 0 ? "" : ","}{"roomTypeCode":"${code}","roomTypeCapacity":${rooms},"roomsNotAvailableMaintenance":${books.count("maintenance", type, day)},"roomsNotAvailableOther":${books.count("other", type, day)},"roomsSold":${transient + group + wrong.sumOnly},"transientSold":${transient},"groupSold":${group}}`;
    }
    return text;
  }

  /** The whole hotel as one virtual room type; its rooms also count under their own types. */
  #virtualText(day: number): string {
    if (!this.#profile.hasRunOfHouse) return "";
    const books = this.#books;
    let sold = 0;
    for (let type = 0; type < books.types.length; type += 1)
      sold += books.count("transient", type, day) + books.count("group", type, day);
    return `,"virtualRoomTypeInventories":[{"roomTypeCode":"ROH","roomTypeCapacity":${this.#profile.rooms},"roomsSold":${sold}}]`;
  }
}
