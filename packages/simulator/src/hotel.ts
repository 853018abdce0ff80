import { Demand } from "./demand.ts";
import { type FaultName, HotelFaults } from "./faults.ts";
import { FrontDesk, type GroupStep, RoomBooks } from "./front-desk.ts";
import { type GroupState, type HotelProfile, hotelProfile } from "./hotel-profile.ts";
import type { Booking, StayStep } from "./plan-stay.ts";
import { SeededRandom } from "./random.ts";
import {
  groupName,
  guestName,
  InventoryPush,
  RecordBytes,
  reservationText,
  type SimulatedRecord,
} from "./records.ts";
import { type GroupBlock, Reservation } from "./reservation.ts";
import { centsText, dateText, dayOfDate, timeText } from "./simulated-record.ts";

/** Events by day, in order of second, then of insertion. */
class Agenda<Item> {
  readonly #days = new Map<number, Entry<Item>[]>();
  #entered = 0;
  #today = Number.NEGATIVE_INFINITY;
  #entries: Entry<Item>[] = [];
  #at = 0;

  add(day: number, second: number, item: Item): void {
    const entry = { second, entered: this.#entered++, item };
    if (day === this.#today) this.#insert(entry);
    else {
      const entries = this.#days.get(day);
      if (entries === undefined) this.#days.set(day, [entry]);
      else entries.push(entry);
    }
  }

  get firstDay(): number | undefined {
    let first: number | undefined;
    for (const day of this.#days.keys()) if (first === undefined || day < first) first = day;
    return first;
  }

  /** Runs the events of a day in order, including those added meanwhile. */
  run(day: number, happen: (item: Item, second: number) => void): void {
    this.#today = day;
    this.#entries = (this.#days.get(day) ?? []).sort(inOrder);
    this.#days.delete(day);
    for (this.#at = 0; this.#at < this.#entries.length; this.#at += 1) {
      const { item, second } = this.#entries[this.#at] as Entry<Item>;
      happen(item, second);
    }
    this.#today = Number.NEGATIVE_INFINITY;
    this.#entries = [];
  }

  #insert(entry: Entry<Item>): void {
    const entries = this.#entries;
    let at = this.#at + 1;
    while (at < entries.length && inOrder(entries[at] as Entry<Item>, entry) <= 0) at += 1;
    entries.splice(at, 0, entry);
  }
}

interface Entry<Item> {
  readonly second: number;
  readonly entered: number;
  readonly item: Item;
}

function inOrder<Item>(one: Entry<Item>, other: Entry<Item>): number {
  return one.second - other.second || one.entered - other.entered;
}

const HOUSE_USE_ROOMS = 1;
const HOUSE_USE_HOTELS = 3;
const STARTS_IN = 6;
const AHEAD_DAYS_MAX = 20;
const NIGHTS_MOST = 8;

/** Takes free rooms out of order for some nights. Invented. */
class Maintenance {
  readonly #seed: number;
  readonly #profile: HotelProfile;
  readonly #books: RoomBooks;

  constructor(seed: number, profile: HotelProfile, books: RoomBooks) {
    this.#seed = seed ^ Math.imul(profile.number + 1, 0x85ebca77);
    this.#profile = profile;
    this.#books = books;
    if (profile.number % HOUSE_USE_HOTELS !== 0) return;
    for (let day = books.firstDay; day < books.firstDay + books.days; day += 1)
      books.take("other", 0, day, HOUSE_USE_ROOMS);
  }

  plan(today: number): void {
    const random = SeededRandom.stream(this.#seed, today);
    if (random.between(1, STARTS_IN) !== 1) return;
    const first = today + random.between(0, AHEAD_DAYS_MAX);
    const nights = random.between(2, NIGHTS_MOST);
    const type = random.between(0, this.#profile.roomTypes.length - 1);
    const rooms = random.between(1, 2);
    if (this.#books.free(type, first, nights) < rooms) return;
    for (let day = first; day < first + nights; day += 1) this.#books.take("maintenance", type, day, rooms);
  }
}

const ACTIONS: Readonly<Record<GroupState, string>> = {
  tentative: "COMMIT",
  definite: "MODIFY",
  lost: "CANCEL",
  cancelled: "CANCEL",
};
const TWO_PERSONS_PERCENT = 115;

function groupText(group: GroupBlock, profile: HotelProfile, day: number, second: number): string {
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

export interface HotelOptions {
  readonly seed: number;
  readonly days: number;
  /** The first day, `YYYY-MM-DD`. */
  readonly start: string;
  readonly clientCode: string;
  /** Nights of each nightly push of inventory; 0 pushes none. */
  readonly horizonDays: number;
  readonly faults: ReadonlySet<FaultName>;
}

const NIGHTS_MAX = 22;
/** Changed groups are sent before the nightly push; both follow the night audit. */
const MASTERS_SECOND = 23 * 3_600 + 2_400;
const PUSH_SECOND = 23 * 3_600 + 2_700;

type Due = GroupStep | { readonly reservation: Reservation; readonly step: StayStep };

/** One hotel, day by day. Yields records in the order in which its system creates them. */
export class Hotel {
  readonly profile: HotelProfile;
  /** Undefined without faults. */
  readonly faults: HotelFaults | undefined;
  readonly #startDay: number;
  readonly #horizonDays: number;
  readonly #demand: Demand;
  readonly #maintenance: Maintenance;
  readonly #desk: FrontDesk;
  readonly #push: InventoryPush;
  readonly #agenda = new Agenda<Due>();
  readonly #bytes = new RecordBytes();
  readonly #open = new Set<Reservation>();
  /** Records of the current day; undefined before the first day. */
  #reported: SimulatedRecord[] | undefined;

  constructor(number: number, options: HotelOptions) {
    const { seed, clientCode, start, days, horizonDays, faults } = options;
    this.#startDay = dayOfDate(start);
    this.#horizonDays = horizonDays;
    this.profile = hotelProfile(seed, number, clientCode);
    this.#demand = new Demand(seed, this.profile);
    const firstDay = this.#startDay - NIGHTS_MAX;
    const daysAhead = Math.max(this.#demand.planAheadDays, ...Demand.bandStarts) + NIGHTS_MAX;
    const books = new RoomBooks(this.profile.roomTypes, firstDay, NIGHTS_MAX + days + daysAhead);
    this.#maintenance = new Maintenance(seed, this.profile, books);
    this.#desk = new FrontDesk(books, this.profile);
    if (faults.size > 0) this.faults = new HotelFaults(seed, faults, this.profile, books, horizonDays);
    this.#push = new InventoryPush(this.profile, books, (type, day) => this.faults?.miscounts(type, day));
  }

  /** The records on the books at the start of the first day: inventory, groups, reservations. */
  coldStart(): SimulatedRecord[] {
    const startDay = this.#startDay;
    for (let day = startDay - NIGHTS_MAX; day < startDay; day += 1) this.#maintenance.plan(day);
    const { bandStarts } = Demand;
    bandStarts.forEach((ahead, band) => {
      for (let day = startDay - NIGHTS_MAX; day < startDay + ahead; day += 1) this.#enterBookings(day, band);
    });
    for (let day = startDay - NIGHTS_MAX; day < startDay + this.#demand.planAheadDays; day += 1)
      this.#enterGroups(day);
    for (let day = this.#agenda.firstDay ?? startDay; day < startDay; day += 1) this.#live(day);
    const reported = this.#push.records(startDay, this.#horizonDays, startDay - 1, PUSH_SECOND);
    for (const group of this.#desk.touchedGroups(startDay - 1))
      if (group.state === "tentative" || group.state === "definite")
        reported.push(this.#groupRecord(group, startDay - 1));
    for (const reservation of this.#open)
      if (reservation.departure >= startDay) reported.push(this.#reservationRecord(reservation));
    return reported;
  }

  day(day: number): SimulatedRecord[] {
    Demand.bandStarts.forEach((ahead, band) => {
      this.#enterBookings(day + ahead, band);
    });
    this.#enterGroups(day + this.#demand.planAheadDays);
    this.#maintenance.plan(day);
    const reported: SimulatedRecord[] = [];
    this.#reported = reported;
    this.#live(day);
    for (const group of this.#desk.touchedGroups(day)) reported.push(this.#groupRecord(group, day));
    this.faults?.beforePush(day);
    for (const record of this.#push.records(day, this.#horizonDays, day, PUSH_SECOND)) reported.push(record);
    return reported;
  }

  #enterBookings(arrival: number, band: number): void {
    for (const booking of this.#demand.bookings(arrival, band)) this.#enter(booking);
  }

  #enter({ relation, stays }: Booking): void {
    const reservations = stays.map((planned) => new Reservation(planned));
    const [first, second] = reservations;
    if (first === undefined) return;
    // The guest left before the first day.
    if (first.planned.arrival + NIGHTS_MAX < this.#startDay) return;
    if (relation === "shared" && second !== undefined) {
      first.sharer = second;
      second.sharer = first;
      first.shareId = `SH${first.planned.guest}`;
      second.shareId = first.shareId;
      second.type = first.type;
    }
    for (const reservation of reservations) {
      if (relation === "linked") reservation.linkId = `M${first.planned.guest}`;
      this.#scheduleNext(reservation);
    }
  }

  #enterGroups(arrival: number): void {
    for (const planned of this.#demand.groups(arrival)) {
      const { group, steps } = this.#desk.stepsOf(planned);
      for (const { day, second, step } of steps) this.#agenda.add(day, second, step);
      for (const member of planned.members) this.#scheduleNext(new Reservation(member, group));
    }
  }

  #scheduleNext(reservation: Reservation): void {
    const step = reservation.steps[reservation.step];
    if (step !== undefined) this.#agenda.add(step.day, step.second, { reservation, step });
  }

  #live(day: number): void {
    this.#agenda.run(day, (due, second) => {
      if ("group" in due) this.#groupStep(due, day, second);
      else this.#stayStep(due.reservation, due.step);
    });
  }

  #stayStep(reservation: Reservation, step: StayStep): void {
    // Cancelled with its group meanwhile.
    if (reservation.step > 0 && reservation.isOver && step.event !== "corrected") return;
    const isReported = this.#desk.happen(reservation, step);
    if (!isReported) {
      this.#open.delete(reservation);
      return;
    }
    reservation.step += 1;
    this.#scheduleNext(reservation);
    this.#report(reservation, step.day, step.second);
  }

  #groupStep(step: GroupStep, day: number, second: number): void {
    this.#desk.changeGroup(step, day);
    if (step.group.state !== "cancelled") return;
    let at = second;
    for (const member of [...step.group.members]) {
      at += 7;
      this.#desk.cancel(member);
      this.#report(member, day, at);
    }
  }

  #report(reservation: Reservation, day: number, second: number): void {
    reservation.modifiedDay = day;
    reservation.modifiedSecond = second;
    if (reservation.isOver) this.#open.delete(reservation);
    else this.#open.add(reservation);
    if (this.#reported === undefined) return;
    this.faults?.happened(reservation, day);
    this.#reported.push(this.#reservationRecord(reservation));
  }

  #reservationRecord(reservation: Reservation): SimulatedRecord {
    const { clientCode, propertyCode } = this.profile;
    const { id: key, modifiedDay: day, modifiedSecond: second } = reservation;
    const json = this.#bytes.of(
      reservationText(reservation, this.profile, this.faults?.wrongFields(reservation)),
    );
    return { resource: "reservations", clientCode, propertyCode, key, day, second, json, reservation };
  }

  #groupRecord(group: GroupStep["group"], day: number): SimulatedRecord {
    const { clientCode, propertyCode } = this.profile;
    const json = this.#bytes.of(groupText(group, this.profile, day, MASTERS_SECOND));
    return {
      resource: "groups",
      clientCode,
      propertyCode,
      key: group.code,
      day,
      second: MASTERS_SECOND,
      json,
    };
  }
}
