import { dayAt } from "#contract/calendar.ts";
import { type Money, moneyAt, sumOf, timesWhole } from "#contract/money.ts";
import { COLUMNS, FACT_SOURCES, HEAD, LIST } from "#contract/record-plan.ts";
import type { Resource } from "#contract/resource.ts";
import { changesTooOften } from "#contract/revenue-changes.ts";
import { knownStatus } from "#contract/statuses.ts";
import type { RecordSpans } from "#contract/walk-record.ts";
import { TextMemory } from "#contract/walk-value.ts";
import { RESERVATION_NIGHTS_MAX, STAY_NIGHTS_MAX } from "#contract/warnings.ts";
import { type CoveringStay, SharedDays } from "./shared-days.ts";

/**
 * What the revenue of an entry is of (docs/figures.md); null: room nights. `posted`: room nights whose revenue is daily revenue, and so a
 * fee if the status is not on the books; only in statuses that are not by default, so that other reservations keep one dimension.
 * `dayUse`, `dayUsePosted`: day use, likewise. `outsideStay`: daily revenue of a date without either.
 */
export type RevenueCause = "posted" | "dayUse" | "dayUsePosted" | "outsideStay";

/** What entries are grouped by. Null: not reported. */
export interface DimensionCodes {
  readonly status: string | null;
  readonly roomTypeCode: string | null;
  readonly bookedRoomTypeCode: string | null;
  readonly marketSegmentCode: string | null;
  readonly groupBlockCode: string | null;
  readonly rateCode: string | null;
  readonly channel: string | null;
  readonly currencyCode: string | null;
  readonly cause: RevenueCause | null;
}

/** The number of a dimension: a bigint in two 32-bit halves. */
export interface Dimension {
  readonly high: number;
  readonly low: number;
}

/** Consecutive nights of one stay with the same revenue. All numbers are per night. */
export interface NightRun {
  /** Days since 1970-01-01. */
  readonly firstNight: number;
  readonly nights: number;
  readonly rooms: number;
  /** Guests in all rooms, as `children`. */
  readonly adults: number;
  readonly children: number;
  /** For all rooms; null if the record reports neither revenue nor rate. */
  readonly roomRevenue: Money | null;
  readonly grossRoomRevenue: Money | null;
  /** One object for all runs of a stay. */
  readonly codes: DimensionCodes;
}

/** The nights of a version of a reservation. */
export interface ReservationNights {
  /** Null if absent or empty. */
  readonly shareId: string | null;
  readonly runs: readonly NightRun[];
}

/** Consecutive nights of one room type with equal values in a group block master. */
export interface BlockRun {
  readonly firstNight: number;
  readonly nights: number;
  readonly blocks: number | null;
  readonly pickedUp: number | null;
  readonly originalBlocks: number | null;
  readonly codes: DimensionCodes;
}

export const COUNT_MAX = 2_147_483_647;
/** Dates outside the stays of a reservation, as many as nights of one stay. */
const OUTSIDE_DATES_MAX = STAY_NIGHTS_MAX;

/** Clamps a count to ±COUNT_MAX, so that its negation fits into 32 bits too. */
export function boundedCount(count: number): number {
  return Math.max(-COUNT_MAX, Math.min(COUNT_MAX, count)) + 0;
}

const COLUMN = { ...COLUMNS.reservation, ...COLUMNS.stay, ...COLUMNS.rate, ...COLUMNS.day };

const texts = new TextMemory();

/** The offset of each column within an item of a record's spans. */
const placesOf = (resource: Resource) =>
  Int32Array.from(FACT_SOURCES[resource], (source) => source?.place ?? 0);
const PLACES = { reservations: placesOf("reservations"), groups: placesOf("groups") };

/** Reads facts from spans. Item 0 means the end of a list, or the record itself for a field. Rates are in the order of their stays. */
export class SpanFacts {
  readonly #places: Int32Array;
  readonly #bytes: Buffer;
  readonly #slab: Int32Array;
  readonly #base: number;

  constructor(resource: keyof typeof PLACES, { bytes, slab, base }: RecordSpans) {
    this.#places = PLACES[resource];
    this.#bytes = bytes;
    this.#slab = slab;
    this.#base = base;
  }

  first(list: number): number {
    return this.#slab[this.#base + HEAD.firstOfList + list] as number;
  }

  next(item: number): number {
    return this.#slab[this.#base + item] as number;
  }

  /** The index of the stay that a rate belongs to. */
  stayOf(rate: number): number {
    return this.#slab[this.#base + rate + 1] as number;
  }

  text(item: number, column: number): string | null {
    const place = this.#placeOf(item, column);
    const mark = this.#slab[place] as number;
    return mark === 0 ? null : texts.textAt(this.#bytes, mark >>> 1, this.#slab[place + 1] as number);
  }

  whole(item: number, column: number): number | null {
    const amount = this.amount(item, column);
    return typeof amount === "number" ? amount / 10_000 : null;
  }

  /** Days since 1970-01-01; NaN: absent. */
  day(item: number, column: number): number {
    const mark = this.#slab[this.#placeOf(item, column)] as number;
    return mark === 0 ? Number.NaN : dayAt(this.#bytes, mark >>> 1);
  }

  has(item: number, column: number): boolean {
    return this.#slab[this.#placeOf(item, column)] !== 0;
  }

  amount(item: number, column: number): Money | null {
    const place = this.#placeOf(item, column);
    const mark = this.#slab[place] as number;
    return mark === 0 ? null : moneyAt(this.#bytes, mark >>> 1, this.#slab[place + 1] as number);
  }

  #placeOf(item: number, column: number): number {
    return this.#base + item + (this.#places[column] as number);
  }
}

/** The nights of the current stay, by days since arrival; reused by all stays. */
class StayNights {
  /** Reported daily revenue. */
  readonly #revenue: (Money | null)[] = new Array(STAY_NIGHTS_MAX).fill(null);
  /** Index of a night's rate in `#net` and `#gross`; 0: none. */
  readonly #rate = new Int32Array(STAY_NIGHTS_MAX);
  readonly #net: (Money | null)[] = [null];
  readonly #gross: (Money | null)[] = [null];
  #arrival = 0;
  #nights = 0;
  #rooms = 0;

  begin(arrival: number, nights: number, rooms: number): void {
    this.#arrival = arrival;
    this.#nights = nights;
    this.#rooms = rooms;
    this.#revenue.fill(null, 0, nights);
    this.#rate.fill(0, 0, nights);
    this.#net.length = 1;
    this.#gross.length = 1;
  }

  /** Adds revenue if the day is a night of the stay; otherwise returns false. */
  addRevenue(day: number, amount: Money | null): boolean {
    const night = day - this.#arrival;
    if (!(night >= 0 && night < this.#nights)) return false;
    this.#revenue[night] = sumOf(this.#revenue[night] ?? null, amount);
    return true;
  }

  /** Moves the revenue of the stay's nights here from a map by day. */
  takeRevenue(days: Map<number, Money | null>): void {
    const isFew = days.size < this.#nights;
    const own = isFew
      ? days.keys()
      : Array.from({ length: this.#nights }, (_, night) => this.#arrival + night);
    for (const day of own) {
      const night = day - this.#arrival;
      if (!(night >= 0 && night < this.#nights)) continue;
      this.#revenue[night] = days.get(day) ?? null;
      days.delete(day);
    }
  }

  /** Sets the rate of nights, both days included; NaN: from arrival, or until departure. */
  addRate(firstDay: number, lastDay: number, net: Money | null, gross: Money | null): void {
    const from = Number.isNaN(firstDay) ? 0 : Math.max(0, firstDay - this.#arrival);
    const to = Number.isNaN(lastDay) ? this.#nights : Math.min(this.#nights, lastDay + 1 - this.#arrival);
    if (from >= to) return;
    this.#rate.fill(this.#net.length, from, to);
    this.#net.push(timesWhole(net, this.#rooms));
    this.#gross.push(timesWhole(gross, this.#rooms));
  }

  /** Appends the stay to `runs`, consecutive nights with equal revenue as one run; nights with daily revenue under `postedCodes`. */
  addTo(
    runs: NightRun[],
    adults: number,
    children: number,
    ownCodes: DimensionCodes,
    postedCodes: DimensionCodes,
  ): void {
    for (let from = 0, to = 1; from < this.#nights; from = to, to += 1) {
      const roomRevenue = this.netAt(from);
      const grossRoomRevenue = this.grossAt(from);
      const codes = this.#revenue[from] === null ? ownCodes : postedCodes;
      while (
        to < this.#nights &&
        this.netAt(to) === roomRevenue &&
        this.grossAt(to) === grossRoomRevenue &&
        (this.#revenue[to] === null ? ownCodes : postedCodes) === codes
      )
        to += 1;
      const firstNight = this.#arrival + from;
      const rooms = this.#rooms;
      const nights = to - from;
      runs.push({ firstNight, nights, rooms, adults, children, roomRevenue, grossRoomRevenue, codes });
    }
  }

  /** The night after the last that has the same rate as `night`, or `end` if that is earlier. */
  endOfRate(night: number, end: number): number {
    let next = night + 1;
    while (next < end && this.#rate[next] === this.#rate[night]) next += 1;
    return next;
  }

  netAt(night: number): Money | null {
    return this.#revenue[night] ?? (this.#net[this.#rate[night] as number] as Money | null);
  }

  grossAt(night: number): Money | null {
    return this.#gross[this.#rate[night] as number] as Money | null;
  }
}

const nightsOfStay = new StayNights();

/** Whether insight counts the reservation, and whether its stays are listed by date, without overlaps and day use. */
interface StayShape {
  readonly stays: number;
  readonly isPlain: boolean;
}

/** Undefined if the stays exceed STAY_NIGHTS_MAX or RESERVATION_NIGHTS_MAX. */
function shapeOf(facts: SpanFacts): StayShape | undefined {
  let [stays, all] = [0, 0];
  let isPlain = true;
  let reached = Number.NEGATIVE_INFINITY;
  for (let stay = facts.first(LIST.stays); stay !== 0; stay = facts.next(stay)) {
    const arrival = facts.day(stay, COLUMN.arrivalDate);
    const departure = facts.day(stay, COLUMN.departureDate);
    const nights = departure - arrival;
    if (nights > 0) all += nights;
    if (nights > STAY_NIGHTS_MAX || all > RESERVATION_NIGHTS_MAX) return undefined;
    if (!(nights > 0) || arrival < reached) isPlain = false;
    reached = departure;
    stays += 1;
  }
  return { stays, isPlain };
}

function codesOf(facts: SpanFacts, stay: number, status: string | null): DimensionCodes {
  return {
    status,
    roomTypeCode: facts.text(stay, COLUMN.roomTypeCode),
    bookedRoomTypeCode: facts.text(stay, COLUMN.bookedRoomTypeCode),
    marketSegmentCode: facts.text(stay, COLUMN.marketSegmentCode),
    groupBlockCode: facts.text(stay, COLUMN.groupBlockCode),
    rateCode: facts.text(stay, COLUMN.rateCode),
    channel: facts.text(0, COLUMN.channel),
    currencyCode: facts.text(stay, COLUMN.currencyCode) || null,
    cause: null,
  };
}

// Consecutive reservations often have one status; folding its spelling takes longer than this comparison.
let lastStatus: string | null = null;
let lastIsBooked = false;

/** Whether the default mapping counts a status on the books. */
function isBookedByDefault(status: string | null): boolean {
  if (status !== lastStatus) {
    lastStatus = status;
    lastIsBooked = knownStatus("reservations", status ?? "")?.deducts === true;
  }
  return lastIsBooked;
}

/** Whole numbers of a record that stand for rooms or guests: below 0 they count 0. */
const countOf = (count: number): number => Math.max(0, boundedCount(count));

/** Daily revenue by date: of several entries of one date, the sum. */
type Days = Map<number, Money | null>;

function daysOf(facts: SpanFacts): Days {
  const days: Days = new Map();
  for (let day = facts.first(LIST.days); day !== 0; day = facts.next(day)) {
    const date = facts.day(day, COLUMN.occupancyDate);
    days.set(date, sumOf(days.get(date) ?? null, facts.amount(day, COLUMN.netRoomRevenue)));
  }
  return days;
}

/** Reads the rates of stay number `at` into `nightsOfStay`; returns the first rate of a later stay. */
function readRates(facts: SpanFacts, from: number, at: number): number {
  let rate = from;
  for (; rate !== 0 && facts.stayOf(rate) === at; rate = facts.next(rate))
    nightsOfStay.addRate(
      facts.day(rate, COLUMN.startDate),
      facts.day(rate, COLUMN.endDate),
      facts.amount(rate, COLUMN.rateValue),
      facts.amount(rate, COLUMN.grossRateValue),
    );
  return rate;
}

/** Adds runs of daily revenue on dates that no stay covers; none beyond OUTSIDE_DATES_MAX. */
function addOutside(runs: NightRun[], days: Days, facts: SpanFacts, status: string | null): void {
  const amounts = [...days].filter(([, amount]) => amount !== null && amount !== 0);
  if (amounts.length === 0 || amounts.length > OUTSIDE_DATES_MAX) return;
  const codes: DimensionCodes = { ...codesOf(facts, facts.first(LIST.stays), status), cause: "outsideStay" };
  for (const [firstNight, roomRevenue] of amounts.sort(([one], [other]) => one - other))
    runs.push({
      firstNight,
      nights: 1,
      rooms: 0,
      adults: 0,
      children: 0,
      roomRevenue,
      grossRoomRevenue: null,
      codes,
    });
}

/** The runs of stays that are listed by date and do not overlap. */
function plainRuns(facts: SpanFacts, stays: number, rooms: number, status: string | null): NightRun[] {
  const runs: NightRun[] = [];
  const isBooked = isBookedByDefault(status);
  // One stay needs no map of its daily revenue.
  let days = stays > 1 ? daysOf(facts) : undefined;
  let rate = facts.first(LIST.rates);
  let stay = facts.first(LIST.stays);
  for (let at = 0; stay !== 0; stay = facts.next(stay), at += 1) {
    const arrival = facts.day(stay, COLUMN.arrivalDate);
    nightsOfStay.begin(arrival, facts.day(stay, COLUMN.departureDate) - arrival, rooms);
    rate = readRates(facts, rate, at);
    if (stays > 1) nightsOfStay.takeRevenue(days as Days);
    else
      for (let day = facts.first(LIST.days); day !== 0; day = facts.next(day)) {
        const date = facts.day(day, COLUMN.occupancyDate);
        const amount = facts.amount(day, COLUMN.netRoomRevenue);
        if (!nightsOfStay.addRevenue(date, amount) && amount !== null) {
          days ??= new Map();
          days.set(date, sumOf(days.get(date) ?? null, amount));
        }
      }
    const codes = codesOf(facts, stay, status);
    const adults = countOf((facts.whole(stay, COLUMN.numberOfAdults) ?? 0) * rooms);
    const children = countOf((facts.whole(stay, COLUMN.numberOfChildren) ?? 0) * rooms);
    nightsOfStay.addTo(runs, adults, children, codes, isBooked ? codes : { ...codes, cause: "posted" });
  }
  if (days !== undefined) addOutside(runs, days, facts, status);
  return runs;
}

/** A stay of a reservation with overlapping stays or day use; day use has one day. */
interface OneStay extends CoveringStay {
  readonly isDayUse: boolean;
  /** Per room. */
  readonly adults: number;
  readonly children: number;
  readonly codes: DimensionCodes;
  /** Equal to an earlier stay in dates, codes and guests. */
  readonly isRepeat: boolean;
}

function readStays(facts: SpanFacts, status: string | null): OneStay[] {
  const stays: OneStay[] = [];
  const known = new Set<string>();
  for (let stay = facts.first(LIST.stays); stay !== 0; stay = facts.next(stay)) {
    const arrival = facts.day(stay, COLUMN.arrivalDate);
    const nights = facts.day(stay, COLUMN.departureDate) - arrival;
    const codes = codesOf(facts, stay, status);
    const adults = countOf(facts.whole(stay, COLUMN.numberOfAdults) ?? 0);
    const children = countOf(facts.whole(stay, COLUMN.numberOfChildren) ?? 0);
    const text = JSON.stringify([arrival, nights, adults, children, codes]);
    const isDayUse = !(nights > 0);
    const days = Math.max(1, nights);
    stays.push({ arrival, days, isDayUse, adults, children, codes, isRepeat: known.has(text) });
    known.add(text);
  }
  return stays;
}

/** The order in which stays that cover one day get the rooms; equal ones stay as listed. */
function compareStays(one: OneStay, other: OneStay): number {
  return Number(one.isRepeat) - Number(other.isRepeat) || other.arrival - one.arrival;
}

/** The cause of a day's revenue: daily revenue of statuses that are not booked may be a fee. */
function causeOf({ isDayUse }: OneStay, isPosted: boolean): RevenueCause | null {
  if (isDayUse) return isPosted ? "dayUsePosted" : "dayUse";
  return isPosted ? "posted" : null;
}

/** What stays with nights, or those of day use, share. */
interface Sharing {
  readonly rooms: number;
  readonly days: Days;
  readonly shared: SharedDays<OneStay>;
  /** Daily revenue of a date with a night and day use is the night's. */
  readonly isOwn: (day: number) => boolean;
  readonly isBooked: boolean;
}

/** Appends a stay, whose rates are in `nightsOfStay`, to `runs`, consecutive days with equal numbers as one run. */
function addStay(
  runs: NightRun[],
  stay: OneStay,
  { rooms: all, days, shared, isOwn, isBooked }: Sharing,
): void {
  const codesBy = new Map<RevenueCause | null, DimensionCodes>([[null, stay.codes]]);
  let last: NightRun | undefined;
  const add = (run: NightRun) => {
    if (last !== undefined && continues(last, run)) {
      last = { ...last, nights: last.nights + run.nights };
      runs[runs.length - 1] = last;
    } else {
      runs.push(run);
      last = run;
    }
  };
  shared.eachOf(stay, (from, to, place, covering) => {
    const amount = days.get(from) ?? null;
    const first = place === 0 ? Math.max(1, all - covering + 1) : 1;
    const rooms = place < all ? first : 0;
    const daily = amount === null ? undefined : place === 0 && isOwn(from) ? amount : null;
    if (rooms === 0 && daily == null) return;
    const cause = causeOf(stay, daily != null && !isBooked);
    const codes = codesBy.get(cause) ?? { ...stay.codes, cause };
    codesBy.set(cause, codes);
    const guests = stay.isDayUse ? 0 : rooms;
    const adults = countOf(stay.adults * guests);
    const children = countOf(stay.children * guests);
    for (let day = from, next = from; day < to; day = next) {
      const night = day - stay.arrival;
      next = stay.arrival + nightsOfStay.endOfRate(night, to - stay.arrival);
      // Revenue without a room night is net only.
      const gross = stay.isDayUse ? null : timesWhole(nightsOfStay.grossAt(night), rooms);
      add({
        firstNight: day,
        nights: next - day,
        rooms,
        adults,
        children,
        roomRevenue: daily === undefined ? timesWhole(nightsOfStay.netAt(night), rooms) : daily,
        grossRoomRevenue: gross,
        codes,
      });
    }
  });
}

const continues = (run: NightRun, next: NightRun): boolean =>
  run.firstNight + run.nights === next.firstNight &&
  run.rooms === next.rooms &&
  run.roomRevenue === next.roomRevenue &&
  run.grossRoomRevenue === next.grossRoomRevenue &&
  run.codes === next.codes;

/** Whether daily revenue changes so often within the stays that have nights that their rates do not count. */
function hasTooManyChanges(facts: SpanFacts): boolean {
  const stays: [number, number][] = [];
  for (let stay = facts.first(LIST.stays); stay !== 0; stay = facts.next(stay)) {
    const arrival = facts.day(stay, COLUMN.arrivalDate);
    const departure = facts.day(stay, COLUMN.departureDate);
    if (arrival < departure) stays.push([arrival, departure]);
  }
  const days: number[] = [];
  for (let day = facts.first(LIST.days); day !== 0; day = facts.next(day))
    if (facts.has(day, COLUMN.netRoomRevenue)) days.push(facts.day(day, COLUMN.occupancyDate));
  return changesTooOften(stays, days);
}

/** The runs of any stays. */
function distributedRuns(facts: SpanFacts, rooms: number, status: string | null): NightRun[] {
  const stays = readStays(facts, status);
  const days = daysOf(facts);
  const revenueDays = [...days].flatMap(([day, amount]) => (amount === null ? [] : [day]));
  const sharedBy = (isDayUse: boolean) =>
    new SharedDays(stays.filter((stay) => stay.isDayUse === isDayUse).sort(compareStays), revenueDays);
  const [nights, dayUses] = [sharedBy(false), sharedBy(true)];
  const common = { rooms, days, isBooked: isBookedByDefault(status) };
  const ofNights = { ...common, shared: nights, isOwn: () => true };
  const ofDayUses = { ...common, shared: dayUses, isOwn: (day: number) => !nights.covers(day) };
  const runs: NightRun[] = [];
  let rate = hasTooManyChanges(facts) ? 0 : facts.first(LIST.rates);
  for (const [at, stay] of stays.entries()) {
    nightsOfStay.begin(stay.arrival, stay.days, 1);
    rate = readRates(facts, rate, at);
    addStay(runs, stay, stay.isDayUse ? ofDayUses : ofNights);
  }
  for (const day of [...days.keys()]) if (nights.covers(day) || dayUses.covers(day)) days.delete(day);
  addOutside(runs, days, facts, status);
  return runs;
}

/**
 * The nights of a reservation in runs, and its revenue without a night, by the rules of docs/figures.md. A reservation with a share has at
 * least one room. A reservation over RESERVATION_NIGHTS_MAX, or with a stay over STAY_NIGHTS_MAX, has no nights.
 */
export function reservationNights(spans: RecordSpans, status: string | null): ReservationNights {
  const facts = new SpanFacts("reservations", spans);
  const shareId = facts.text(0, COLUMN.shareId) || null;
  const shape = shapeOf(facts);
  if (shape === undefined) return { shareId, runs: [] };
  const named = countOf(facts.whole(0, COLUMN.numberOfRooms) ?? 1);
  const rooms = shareId === null ? named : Math.max(1, named);
  const { stays, isPlain } = shape;
  const runs = isPlain ? plainRuns(facts, stays, rooms, status) : distributedRuns(facts, rooms, status);
  return { shareId, runs };
}
