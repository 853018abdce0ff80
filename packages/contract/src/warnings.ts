import { dateAt, dayAt } from "./calendar.ts";
import { isCurrency } from "./currencies.ts";
import { type Money, moneyAt, sumOf, tenThousandthsAt } from "./money.ts";
import { HEAD, LIST, NOTED, PLACES, SOUGHT, SOUGHT_FROM } from "./record-plan.ts";
import type { Resource } from "./resource.ts";
import { changesTooOften } from "./revenue-changes.ts";
import type { FieldKind, FieldSchema } from "./schema/field.ts";
import { RECORD_OBJECTS } from "./schema/record-schemas.ts";
import { StayDates } from "./stay-dates.ts";
import { pointerOf, quoted } from "./violation.ts";
import type { RecordSpans } from "./walk-record.ts";
import { TextMemory } from "./walk-value.ts";

/** Every warning code and its meaning. Codes are never reused or renamed. `npm run generate` writes the table of `docs/records.md`. */
export const WARNING_CODES = {
  "inventory.oversold": "roomsSold exceeds the capacity minus the rooms not available. Overbooking is legal.",
  "inventory.sold-split": "transientSold and groupSold do not add up to roomsSold.",
  "inventory.room-type-repeated": "A room type occurs twice on one date.",
  "inventory.too-many-room-types":
    "More than 1,000 room types, virtual ones included: insight ignores the record.",
  "count.negative": "A count is below zero.",
  "reservation.revenue-total": "netTotalRevenue of a day is not the sum of that day's net parts.",
  "reservation.revenue-summary": "The summary is not the sum of the days.",
  "reservation.outside-stay": "A date of a rate, service or revenue lies outside the stay.",
  "reservation.too-many-nights":
    "A room stay has more than 1,100 nights, or all stays together more than 11,000: insight ignores the reservation.",
  "reservation.too-many-changes":
    "Room stays share nights, and daily revenue is reported for some of these and not for others, with more than 50 changes in all stays together, plus two for each room stay and each date of revenue: insight counts the rooms and the daily revenue, and no rates.",
  "reservation.overlapping-stays":
    "Room stays of the reservation share a night: it has numberOfRooms rooms in all, not each of them. Send one reservation per room type, linked by multiReservationId.",
  "group.pickup-above-blocks": "More rooms were picked up than were blocked.",
  "group.outside-dates": "A block's date lies outside the group's start and end.",
  "group.too-many-blocks": "More than 11,000 group blocks: insight ignores the group's blocks.",
  "field.similar":
    "The record has a field that the contract does not have, and that resembles one: misspelt, it has no effect.",
  "currency.unknown": "ISO 4217 has no such currency code.",
  "time.implausible":
    "A date or time lies before 2000 or after 2099: often the default value of a programming language.",
  "status.unmapped":
    "The status is not mapped: its rooms are reported separately and do not count on the books.",
  "room-type.unknown":
    "The property's inventory has never contained this room type. Not checked once it has named 300.",
  "warnings.more": "The record has more warnings than are listed.",
} as const;

export type WarningCode = keyof typeof WARNING_CODES;

/** A warning about an accepted record. `pointer` is an RFC 6901 JSON pointer into the record (`/roomStays/0`). */
export interface Warning {
  readonly pointer: string;
  readonly code: WarningCode;
  readonly message: string;
}

// A record may have 100,000 blocks, and warnings are stored.
const WARNINGS_LISTED_MAX = 100;

/** The first warnings of a record, up to a limit. */
export class WarningList {
  readonly #max: number;
  readonly #kept: Warning[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#kept.length >= this.#max;
  }

  add(code: WarningCode, pointer: string, message: string): void {
    if (!this.isFull) this.#kept.push({ pointer, code, message });
  }

  /** The warnings in order, and a last one that counts those not listed. */
  toArray(count: number): readonly Warning[] {
    const more = count - this.#kept.length;
    if (more === 0) return this.#kept;
    return [
      ...this.#kept,
      { pointer: "", code: "warnings.more", message: `${more} more warnings are not listed` },
    ];
  }
}

/** The warnings of a record: counted first, and found again to be listed, because a batch may have a million. */
export class Warnings {
  readonly count: number;
  readonly #find: (list: WarningList) => void;

  constructor(count: number, find: (list: WarningList) => void) {
    this.count = count;
    this.#find = find;
  }

  addTo(list: WarningList): void {
    if (this.count > 0) this.#find(list);
  }

  /** The first `max` warnings in order, at most 100, and one more that counts those not listed. */
  list(max = WARNINGS_LISTED_MAX): readonly Warning[] {
    const list = new WarningList(Math.min(max, WARNINGS_LISTED_MAX));
    if (max > 0) this.addTo(list);
    return list.toArray(this.count);
  }
}

export const NO_WARNINGS = new Warnings(0, () => undefined);

/** Nights of one room stay. Insight ignores records beyond this and the following limits. */
export const STAY_NIGHTS_MAX = 1_100;
/** Nights of all room stays of a reservation. */
export const RESERVATION_NIGHTS_MAX = 11_000;
/** Entries of `groupBlocks`, enough for 30 room types on each night of a year. */
export const GROUP_BLOCKS_MAX = 11_000;
/** Room types of an inventory record, including virtual ones. */
export const ROOM_TYPES_MAX = 1_000;

const { inventory: INVENTORY, room: ROOM, stay: STAY, rate: RATE, service: SERVICE } = PLACES;
const { day: DAY, group: GROUP, block: BLOCK } = PLACES;

/** Members with their places, such as the counts that must not be negative. */
type Members = readonly { readonly name: string; readonly place: number }[];
const sourceTimeOf = (resource: Resource): Members => [
  {
    name: NOTED[resource].sought?.[SOUGHT.sourceTime] ?? "",
    place: SOUGHT_FROM[resource] + 2 * SOUGHT.sourceTime,
  },
];

/** The kept members of an object of some kinds, in the order of its schema. */
function membersOfKinds(object: keyof typeof PLACES, kinds: readonly FieldKind[]): Members {
  const places: Readonly<Record<string, number>> = PLACES[object];
  const { properties } = RECORD_OBJECTS[object];
  return Object.entries<FieldSchema>(properties).flatMap(([name, { fieldKind }]) => {
    const place = places[name];
    return place === undefined || !kinds.includes(fieldKind) ? [] : { name, place };
  });
}

const timesOf = (object: keyof typeof PLACES) => membersOfKinds(object, ["date", "timestamp"]);
const countsOf = (object: keyof typeof PLACES) => membersOfKinds(object, ["count"]);

const INVENTORY_TIMES = [...sourceTimeOf("inventories"), ...timesOf("inventory")];
const RESERVATION_TIMES = [...sourceTimeOf("reservations"), ...timesOf("reservation")];
const STAY_TIMES = timesOf("stay");
const RATE_TIMES = timesOf("rate");
const SERVICE_TIMES = timesOf("service");
const DAY_TIMES = timesOf("day");
const GROUP_TIMES = [...sourceTimeOf("groups"), ...timesOf("group")];
const BLOCK_TIMES = timesOf("block");
const GROUP_SERVICE_TIMES = timesOf("groupService");

const ROOM_COUNTS = countsOf("room");
const RESERVATION_COUNTS = countsOf("reservation");
const STAY_COUNTS = countsOf("stay");
const BUCKET_COUNTS = countsOf("bucket");
const GROUP_COUNTS = countsOf("group");
const BLOCK_COUNTS = countsOf("block");
const NET_PARTS = [DAY.netRoomRevenue, DAY.netFoodRevenue, DAY.netBeverageRevenue, DAY.netOtherRevenue];

const MINUS = 0x2d;
const ZERO = 0x30;
const TWO = 0x32;
const YEAR_DIGITS = 4;
/** The last currency that was found in ISO 4217, usually the next one too: its three bytes as a number. */
let lastCurrency = 0;

const dateTexts = new TextMemory();

/** Finds the warnings of one record. A place is the place of an item (0: the record itself) plus that of its member. */
class WarningCheck {
  readonly #bytes: Buffer;
  readonly #slab: Int32Array;
  readonly #base: number;
  readonly #found: WarningList | undefined;
  readonly #only: WarningCode | undefined;
  readonly #misspelt: RecordSpans["misspelt"];
  /** Number of warnings, and of those for counts below zero. */
  count = 0;
  negative = 0;
  /** Path of the current item, and of the item within it; "": none. */
  #list = "";
  #item = 0;
  #innerList = "";
  #innerItem = 0;

  /** Adds the warnings (or `only` those of one code) to `found`; without it, only counts them. */
  constructor({ bytes, slab, base, misspelt }: RecordSpans, found?: WarningList, only?: WarningCode) {
    this.#bytes = bytes;
    this.#slab = slab;
    this.#base = base;
    this.#found = found;
    this.#only = only;
    this.#misspelt = misspelt;
  }

  record(resource: Resource, isRoomRepeated: boolean): void {
    if (this.#misspelt !== undefined) this.#warnOfMisspelt(this.#misspelt);
    if (resource === "reservations") this.#reservation();
    else if (resource === "groups") this.#group();
    else this.#inventory(isRoomRepeated);
  }

  #warnOfMisspelt({ count, listed }: NonNullable<RecordSpans["misspelt"]>): void {
    this.count += count;
    if ((this.#only ?? "field.similar") !== "field.similar") return;
    for (const { path, field } of listed) {
      const message = `${quoted(String(path.at(-1)))} is no field of the contract; did you mean ${field}?`;
      this.#found?.add("field.similar", pointerOf(path), message);
    }
  }

  /** `isRepeated`: whether a room type occurs twice. */
  #inventory(isRepeated: boolean): void {
    const count = this.#countOf(LIST.rooms);
    if (count > ROOM_TYPES_MAX) {
      const message =
        this.#isListing &&
        `the record has ${count} room types, and insight counts up to ${ROOM_TYPES_MAX}: it leaves the record out`;
      this.#warn("inventory.too-many-room-types", "roomTypeInventories", message);
    }
    const regular = this.#slab[this.#base + HEAD.regularRooms] as number;
    const seen = isRepeated ? new Set<string>() : undefined;
    this.#warnOfTimes(0, INVENTORY_TIMES);
    let at = 0;
    for (let room = this.#first(LIST.rooms); room !== 0; room = this.#next(room)) {
      this.#list = at < regular ? "roomTypeInventories" : "virtualRoomTypeInventories";
      this.#item = at < regular ? at : at - regular;
      this.#warnOfNegative(room, ROOM_COUNTS);
      if (seen !== undefined) {
        const code = this.#text(room + ROOM.roomTypeCode);
        if (seen.has(code))
          this.#warn("inventory.room-type-repeated", "roomTypeCode", "this room type is named twice");
        seen.add(code);
      }
      this.#warnOfRooms(room);
      at += 1;
    }
  }

  #warnOfRooms(room: number): void {
    const sold = this.#count(room + ROOM.roomsSold);
    const unavailable =
      this.#count(room + ROOM.roomsNotAvailableMaintenance) + this.#count(room + ROOM.roomsNotAvailableOther);
    const available = this.#count(room + ROOM.roomTypeCapacity) - unavailable;
    if (sold > available)
      this.#warn(
        "inventory.oversold",
        "roomsSold",
        this.#isListing && `roomsSold is ${sold}, and ${available} rooms are available`,
      );
    const transient = this.#whole(room + ROOM.transientSold);
    const group = this.#whole(room + ROOM.groupSold);
    if (Number.isNaN(transient + group) || transient + group === sold) return;
    const message =
      this.#isListing && `transientSold ${transient} and groupSold ${group} are not roomsSold ${sold}`;
    this.#warn("inventory.sold-split", "roomsSold", message);
  }

  #reservation(): void {
    this.#warnOfNights();
    this.#warnOfOverlap();
    this.#warnOfTimes(0, RESERVATION_TIMES);
    this.#warnOfNegative(0, RESERVATION_COUNTS);
    let bucket = this.#first(LIST.childAgeBuckets);
    let rate = this.#first(LIST.rates);
    let service = this.#first(LIST.services);
    this.#list = "roomStays";
    this.#item = 0;
    for (let stay = this.#first(LIST.stays); stay !== 0; stay = this.#next(stay)) {
      this.#warnOfNegative(stay, STAY_COUNTS);
      this.#warnOfTimes(stay, STAY_TIMES);
      this.#warnOfCurrency(stay + STAY.currencyCode);
      this.#enter("childAgeBuckets");
      for (; this.#isOfStay(bucket); bucket = this.#next(bucket)) {
        this.#warnOfNegative(bucket, BUCKET_COUNTS);
        this.#innerItem += 1;
      }
      const [arrival, departure] = [
        this.#date(stay + STAY.arrivalDate),
        this.#date(stay + STAY.departureDate),
      ];
      this.#enter("rates");
      for (; this.#isOfStay(rate); rate = this.#next(rate)) {
        this.#warnOfTimes(rate, RATE_TIMES);
        this.#warnOfDate("startDate", rate + RATE.startDate, arrival, departure, stay);
        this.#warnOfDate("endDate", rate + RATE.endDate, arrival, departure, stay);
        this.#innerItem += 1;
      }
      this.#enter("services");
      for (; this.#isOfStay(service); service = this.#next(service)) {
        this.#warnOfTimes(service, SERVICE_TIMES);
        this.#warnOfDate("startDate", service + SERVICE.startDate, arrival, departure, stay);
        this.#warnOfDate("endDate", service + SERVICE.endDate, arrival, departure, stay);
        this.#innerItem += 1;
      }
      this.#enter("");
      this.#item += 1;
    }
    this.#warnOfDays();
  }

  #enter(list: string): void {
    this.#innerList = list;
    this.#innerItem = 0;
  }

  #isOfStay(item: number): boolean {
    return item !== 0 && this.#slab[this.#base + item + 1] === this.#item;
  }

  #warnOfNights(): void {
    let all = 0;
    let at = 0;
    for (let stay = this.#first(LIST.stays); stay !== 0; stay = this.#next(stay)) {
      const nights = Math.max(0, this.#day(stay + STAY.departureDate) - this.#day(stay + STAY.arrivalDate));
      if (nights > STAY_NIGHTS_MAX) {
        [this.#list, this.#item] = ["roomStays", at];
        const message =
          this.#isListing &&
          `the stay has ${nights} nights, and insight counts stays of up to ${STAY_NIGHTS_MAX}: it leaves the reservation out`;
        this.#warn("reservation.too-many-nights", "departureDate", message);
        this.#list = "";
        return;
      }
      all += nights;
      at += 1;
    }
    if (all <= RESERVATION_NIGHTS_MAX) return;
    const message =
      this.#isListing &&
      `the room stays have ${all} nights together, and insight counts up to ${RESERVATION_NIGHTS_MAX}: it leaves the reservation out`;
    this.#warn("reservation.too-many-nights", "roomStays", message);
  }

  /** Warns of the first room stay, in order of arrival, that shares a night with another. */
  #warnOfOverlap(): void {
    if (this.#next(this.#first(LIST.stays)) === 0) return;
    const stays: { readonly at: number; readonly arrival: number; readonly departure: number }[] = [];
    let at = 0;
    for (let stay = this.#first(LIST.stays); stay !== 0; stay = this.#next(stay)) {
      const [arrival, departure] = [
        this.#date(stay + STAY.arrivalDate),
        this.#date(stay + STAY.departureDate),
      ];
      // Day use has no night.
      if (arrival < departure) stays.push({ at, arrival, departure });
      at += 1;
    }
    stays.sort((one, other) => one.arrival - other.arrival);
    // Without an overlap so far, the previous stay is the one that ends last.
    const found = stays.findIndex(({ arrival }, place) => arrival < (stays[place - 1]?.departure ?? 0));
    const [before, stay] = [stays[found - 1], stays[found]];
    if (before === undefined || stay === undefined) return;
    const [first, second] = before.at < stay.at ? [before.at, stay.at] : [stay.at, before.at];
    this.#list = "";
    const message = this.#isListing && `roomStays/${first} and roomStays/${second} share a night`;
    this.#warn("reservation.overlapping-stays", `roomStays/${second}`, message);
    this.#warnOfChanges();
  }

  /** Warns if daily revenue changes too often within stays that share nights. */
  #warnOfChanges(): void {
    const stays: [number, number][] = [];
    for (let stay = this.#first(LIST.stays); stay !== 0; stay = this.#next(stay)) {
      const [arrival, departure] = [this.#day(stay + STAY.arrivalDate), this.#day(stay + STAY.departureDate)];
      if (arrival < departure) stays.push([arrival, departure]);
    }
    const days: number[] = [];
    for (let day = this.#first(LIST.days); day !== 0; day = this.#next(day))
      if (this.#isGiven(day + DAY.netRoomRevenue)) days.push(this.#day(day + DAY.occupancyDate));
    if (!changesTooOften(stays, days)) return;
    const message =
      this.#isListing &&
      "daily revenue is reported for some of the nights that these stays share, and changes so often that insight does not count their rates";
    this.#warn("reservation.too-many-changes", "stayRevenue/daily", message);
  }

  #warnOfTimes(item: number, times: Members): void {
    for (const { name, place } of times) {
      const start = this.#start(item + place);
      if (start === 0 || (this.#bytes[start] === TWO && this.#bytes[start + 1] === ZERO)) continue;
      const year = this.#isListing && this.#bytes.toString("latin1", start, start + YEAR_DIGITS);
      const message = year !== false && `${name} is in the year ${year}, outside 2000 to 2099`;
      this.#warn("time.implausible", name, message);
    }
  }

  #warnOfCurrency(place: number): void {
    if (!this.#isGiven(place)) return;
    const [start, end] = [this.#start(place), this.#end(place)];
    const [first = 0, second = 0, third = 0] = [
      this.#bytes[start],
      this.#bytes[start + 1],
      this.#bytes[start + 2],
    ];
    const number = (first << 16) | (second << 8) | third;
    if (end - start === 3 && number === lastCurrency) return;
    if (end - start === 3 && isCurrency(this.#text(place))) {
      lastCurrency = number;
      return;
    }
    const message =
      this.#isListing && `${quoted(this.#text(place))} is not a currency code of ISO 4217, such as EUR`;
    this.#warn("currency.unknown", "currencyCode", message);
  }

  /** Checks a date of a rate or service against its stay, including the day of departure. */
  #warnOfDate(name: string, place: number, arrival: number, departure: number, stay: number): void {
    const date = this.#date(place);
    // An absent date is NaN, and every comparison false.
    if (!(date < arrival || date > departure)) return;
    const [from, to] = [stay + STAY.arrivalDate, stay + STAY.departureDate];
    const message =
      this.#isListing && `${this.#text(place)} is outside ${this.#text(from)} to ${this.#text(to)}`;
    this.#warn("reservation.outside-stay", name, message);
  }

  #warnOfDays(): void {
    const stay = this.#first(LIST.stays);
    const [arrival, departure] = [this.#date(stay + STAY.arrivalDate), this.#date(stay + STAY.departureDate)];
    const dates = this.#next(stay) === 0 ? undefined : new StayDates(this.#stays());
    [this.#list, this.#item] = ["stayRevenue/daily", 0];
    for (let day = this.#first(LIST.days); day !== 0; day = this.#next(day)) {
      this.#warnOfTimes(day, DAY_TIMES);
      const date = this.#date(day + DAY.occupancyDate);
      const isWithin = dates === undefined ? date >= arrival && date <= departure : dates.has(date);
      if (!isWithin) {
        const message =
          this.#isListing && `${this.#text(day + DAY.occupancyDate)} is outside every room stay`;
        this.#warn("reservation.outside-stay", "occupancyDate", message);
      }
      if (!this.#isSum(day)) {
        const message =
          this.#isListing &&
          "netTotalRevenue is not the sum of the day's net room, food, beverage and other revenue";
        this.#warn("reservation.revenue-total", "netTotalRevenue", message);
      }
      this.#item += 1;
    }
    this.#list = "";
    this.#warnOfSummary("netTotalTicketRevenue", "netTicketPrice");
    this.#warnOfSummary("totalTicketRevenue", "ticketPrice");
  }

  #stays(): [number, number][] {
    const stays: [number, number][] = [];
    for (let stay = this.#first(LIST.stays); stay !== 0; stay = this.#next(stay))
      stays.push([this.#date(stay + STAY.arrivalDate), this.#date(stay + STAY.departureDate)]);
    return stays;
  }

  /** Whether a day's total is the sum of its parts; true if it has none. */
  #isSum(day: number): boolean {
    const total = this.#amount(day + DAY.netTotalRevenue);
    if (total === null) return true;
    let sum: Money | null = null;
    for (const part of NET_PARTS) sum = sumOf(sum, this.#amount(day + part));
    return sum === null || sum === total;
  }

  /** Compares a total of the summary if every day has the price that it sums. */
  #warnOfSummary(
    total: "netTotalTicketRevenue" | "totalTicketRevenue",
    price: "netTicketPrice" | "ticketPrice",
  ): void {
    const stated = this.#amount(HEAD[total]);
    if (stated === null) return;
    let sum: Money | null = null;
    for (let day = this.#first(LIST.days); day !== 0; day = this.#next(day)) {
      const amount = this.#amount(day + DAY[price]);
      if (amount === null) return;
      sum = sumOf(sum, amount);
    }
    if (sum === null || sum === stated) return;
    this.#list = "";
    const message = this.#isListing && `${total} is not the sum of the days' ${price}`;
    this.#warn("reservation.revenue-summary", `stayRevenue/summary/${total}`, message);
  }

  #group(): void {
    const count = this.#countOf(LIST.blocks);
    if (count > GROUP_BLOCKS_MAX) {
      const message =
        this.#isListing &&
        `the group has ${count} blocks, and insight counts up to ${GROUP_BLOCKS_MAX}: it leaves them out`;
      this.#warn("group.too-many-blocks", "groupBlocks", message);
    }
    this.#warnOfTimes(0, GROUP_TIMES);
    this.#warnOfNegative(0, GROUP_COUNTS);
    const [first, last] = [this.#date(GROUP.startDate), this.#date(GROUP.endDate)];
    [this.#list, this.#item] = ["groupBlocks", 0];
    for (let block = this.#first(LIST.blocks); block !== 0; block = this.#next(block)) {
      this.#warnOfNegative(block, BLOCK_COUNTS);
      this.#warnOfTimes(block, BLOCK_TIMES);
      this.#warnOfCurrency(block + BLOCK.currencyCode);
      const [blocks, pickup] = [this.#count(block + BLOCK.blocks), this.#whole(block + BLOCK.pickup)];
      if (pickup > blocks)
        this.#warn(
          "group.pickup-above-blocks",
          "pickup",
          this.#isListing && `pickup is ${pickup}, blocks is ${blocks}`,
        );
      const date = this.#date(block + BLOCK.occupancyDate);
      if (date < first || date > last) {
        const [day, start, end] = [block + BLOCK.occupancyDate, GROUP.startDate, GROUP.endDate];
        const message =
          this.#isListing && `${this.#text(day)} is outside ${this.#text(start)} to ${this.#text(end)}`;
        this.#warn("group.outside-dates", "occupancyDate", message);
      }
      this.#item += 1;
    }
    [this.#list, this.#item] = ["services", 0];
    for (let one = this.#first(LIST.groupServices); one !== 0; one = this.#next(one)) {
      this.#warnOfTimes(one, GROUP_SERVICE_TIMES);
      this.#item += 1;
    }
  }

  dates(resource: Resource): readonly [string, string] {
    if (resource === "groups") return [this.#dateText(GROUP.startDate), this.#dateText(GROUP.endDate)];
    if (resource === "inventories") {
      const date = this.#dateText(INVENTORY.occupancyDate);
      return [date, date];
    }
    const stay = this.#first(LIST.stays);
    let [first, last] = [stay + STAY.arrivalDate, stay + STAY.departureDate];
    for (let other = this.#next(stay); other !== 0; other = this.#next(other)) {
      if (this.#date(other + STAY.arrivalDate) < this.#date(first)) first = other + STAY.arrivalDate;
      if (this.#date(other + STAY.departureDate) > this.#date(last)) last = other + STAY.departureDate;
    }
    return [this.#dateText(first), this.#dateText(last)];
  }

  #warn(code: WarningCode, member: string, message: string | false): void {
    this.count += 1;
    if (code === "count.negative") this.negative += 1;
    if (message === false || (this.#only ?? code) !== code) return;
    const inner = this.#innerList === "" ? [] : [this.#innerList, this.#innerItem];
    const path = this.#list === "" ? [] : [this.#list, this.#item, ...inner];
    this.#found?.add(code, [...path, member].map((step) => `/${step}`).join(""), message);
  }

  /** Whether texts are needed. (Passing closures instead would cost a tenth of reading a record.) */
  get #isListing(): boolean {
    return this.#found?.isFull === false;
  }

  #warnOfNegative(item: number, counts: Members): void {
    for (const { name, place } of counts) {
      if (!this.#isGiven(item + place) || this.#bytes[this.#start(item + place)] !== MINUS) continue;
      const value = this.#whole(item + place);
      if (value < 0) this.#warn("count.negative", name, this.#isListing && `${name} is ${value}`);
    }
  }

  #countOf(list: number): number {
    let count = 0;
    for (let item = this.#first(list); item !== 0; item = this.#next(item)) count += 1;
    return count;
  }

  #first(list: number): number {
    return this.#slab[this.#base + HEAD.firstOfList + list] as number;
  }

  #next(item: number): number {
    return this.#slab[this.#base + item] as number;
  }

  #isGiven(place: number): boolean {
    return this.#slab[this.#base + place] !== 0;
  }

  #start(place: number): number {
    return (this.#slab[this.#base + place] as number) >>> 1;
  }

  #end(place: number): number {
    return this.#slab[this.#base + place + 1] as number;
  }

  #text(place: number): string {
    return this.#bytes.toString("utf8", this.#start(place), this.#end(place));
  }

  #dateText(place: number): string {
    return dateTexts.textAt(this.#bytes, this.#start(place), this.#end(place));
  }

  /** Days since 1970-01-01. */
  #day(place: number): number {
    return dayAt(this.#bytes, this.#start(place));
  }

  /** As YYYYMMDD; NaN if absent. */
  #date(place: number): number {
    return this.#isGiven(place) ? dateAt(this.#bytes, this.#start(place)) : Number.NaN;
  }

  /** NaN if absent. */
  #whole(place: number): number {
    if (!this.#isGiven(place)) return Number.NaN;
    return tenThousandthsAt(this.#bytes, this.#start(place), this.#end(place)) / 10_000;
  }

  /** 0 if absent. */
  #count(place: number): number {
    return this.#isGiven(place) ? this.#whole(place) : 0;
  }

  #amount(place: number): Money | null {
    return this.#isGiven(place) ? moneyAt(this.#bytes, this.#start(place), this.#end(place)) : null;
  }
}

/** Warnings that were counted, to be found again when listed. */
function foundAgain(
  count: number,
  resource: Resource,
  spans: RecordSpans,
  isRoomRepeated: boolean,
  only?: WarningCode,
): Warnings {
  return new Warnings(count, (list) => new WarningCheck(spans, list, only).record(resource, isRoomRepeated));
}

/** The warnings of a record in the order of its members, those for counts below zero, and its first and last date. */
export function checkWarnings(
  resource: Resource,
  spans: RecordSpans,
  isRoomRepeated: boolean,
): {
  readonly warnings: Warnings;
  readonly negative: Warnings;
  readonly dates: readonly [first: string, last: string];
} {
  const check = new WarningCheck(spans);
  check.record(resource, isRoomRepeated);
  const { count, negative } = check;
  return {
    warnings: count === 0 ? NO_WARNINGS : foundAgain(count, resource, spans, isRoomRepeated),
    negative:
      negative === 0 ? NO_WARNINGS : foundAgain(negative, resource, spans, isRoomRepeated, "count.negative"),
    dates: check.dates(resource),
  };
}
