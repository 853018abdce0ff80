import { dayOfText } from "#contract/day-number.ts";
import { RESERVATION_NIGHTS_MAX, STAY_NIGHTS_MAX } from "#contract/insight-bounds.ts";
import {
  boundedCount,
  type Money,
  moneyOf,
  type NightRun,
  type ReservationNights,
  sumOf,
  timesWhole,
} from "./night-run.ts";
import { elementsOf, fieldsOfRow } from "./read-facts.ts";

/** Places of a list, each of which is claimed once. Claiming is quick however many are claimed already. */
class Unclaimed {
  /** The first place from each on that may be left. */
  readonly #next: Uint32Array;

  constructor(count: number) {
    this.#next = Uint32Array.from({ length: count + 1 }, (_, place) => place);
  }

  /** Claims what is left from one place up to another, and answers which these are. */
  claim(from: number, to: number): number[] {
    const claimed: number[] = [];
    for (let place = this.#leftFrom(from); place < to; place = this.#leftFrom(place + 1)) {
      claimed.push(place);
      this.#next[place] = place + 1;
    }
    return claimed;
  }

  #leftFrom(place: number): number {
    let left = place;
    while (this.#next[left] !== left) left = this.#next[left] as number;
    // Whoever comes by here again finds it at once.
    for (let at = place; at !== left; ) {
      const next = this.#next[at] as number;
      this.#next[at] = left;
      at = next;
    }
    return left;
  }
}

/** Where each column stands in a `bellhop.reservation_facts` (migration 0005). */
export const COLUMN = {
  numberOfRooms: 3,
  shareId: 5,
  channel: 6,
  arrival: 8,
  departure: 9,
  roomType: 10,
  bookedRoomType: 11,
  segment: 12,
  group: 13,
  rateCode: 15,
  currency: 16,
  adults: 17,
  children: 18,
  rateStay: 19,
  rateStart: 20,
  rateEnd: 21,
  rate: 22,
  grossRate: 23,
  revenueDate: 24,
  netRoomRevenue: 25,
} as const;

const wholeOf = (text: string | null | undefined): number | null => (text == null ? null : Number(text));
const amountOf = (text: string | null | undefined): Money | null => (text == null ? null : moneyOf(text));

interface Rate {
  /** The first night that it is for, and the first after. */
  readonly from: number;
  readonly to: number;
  readonly net: Money | null;
  readonly gross: Money | null;
}

type Column = (name: keyof typeof COLUMN) => readonly (string | null)[];

/** The rates of each stay, in their order. */
function ratesByStay(column: Column): Map<number, Rate[]> {
  const [starts, ends] = [column("rateStart"), column("rateEnd")];
  const [net, gross] = [column("rate"), column("grossRate")];
  const rates = new Map<number, Rate[]>();
  column("rateStay").forEach((stay, at) => {
    const [start, end] = [starts[at] ?? null, ends[at] ?? null];
    const rate = {
      from: start === null ? Number.NEGATIVE_INFINITY : dayOfText(start),
      to: end === null ? Number.POSITIVE_INFINITY : dayOfText(end) + 1,
      net: amountOf(net[at]),
      gross: amountOf(gross[at]),
    };
    const ofStay = rates.get(Number(stay));
    if (ofStay === undefined) rates.set(Number(stay), [rate]);
    else ofStay.push(rate);
  });
  return rates;
}

/** Revenue by date, in the order of dates. A date that is named twice has the sum. */
function revenueByDate(column: Column): { dates: number[]; revenue: (Money | null)[] } {
  const net = column("netRoomRevenue");
  const dates = column("revenueDate").map((date) => dayOfText(date as string));
  if (dates.every((date, at) => at === 0 || date > (dates[at - 1] as number)))
    return { dates, revenue: dates.map((_, at) => amountOf(net[at])) };
  const sums = new Map<number, Money | null>();
  dates.forEach((date, at) => {
    sums.set(date, sumOf(sums.get(date) ?? null, amountOf(net[at])));
  });
  const inOrder = [...sums.keys()].sort((left, right) => left - right);
  return { dates: inOrder, revenue: inOrder.map((date) => sums.get(date) ?? null) };
}

/** The first place whose number is not below a bound, in ascending numbers. */
function placeOf(numbers: readonly number[], bound: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly rate: Rate | undefined;
  readonly revenue: Money | null;
}

/** A stay parted wherever its rate or its revenue may change. The last rate that covers a night is the night's. */
function stretchesOf(
  arrival: number,
  departure: number,
  rates: readonly Rate[],
  days: readonly (readonly [number, Money | null])[],
): Stretch[] {
  const within = (day: number) => Math.min(Math.max(day, arrival), departure);
  const marks = new Set([arrival, departure]);
  for (const { from, to } of rates) marks.add(within(from)).add(within(to));
  for (const [date] of days) marks.add(date).add(date + 1);
  const cuts = [...marks].sort((left, right) => left - right);
  const rateAt: (Rate | undefined)[] = new Array(cuts.length);
  const left = new Unclaimed(cuts.length - 1);
  for (const rate of rates.toReversed())
    for (const place of left.claim(placeOf(cuts, within(rate.from)), placeOf(cuts, within(rate.to))))
      rateAt[place] = rate;
  const revenueOf = new Map(days);
  return cuts.slice(0, -1).map((from, at) => ({
    from,
    to: cuts[at + 1] as number,
    rate: rateAt[at],
    revenue: revenueOf.get(from) ?? null,
  }));
}

/**
 * The nights of a reservation as its facts and its label tell them, in runs of nights that are alike. A night's net room
 * revenue is the daily revenue of its date, on the first stay that covers it; where none is told of the date, the rate times
 * the rooms. Gross is the gross rate times the rooms. Rooms not told are one; day use has no night. A reservation of more nights than
 * insight counts has none (`contract/insight-bounds.ts`).
 */
export function reservationNights(facts: string, status: string | null): ReservationNights {
  const fields = fieldsOfRow(facts);
  const column: Column = (name) => elementsOf(fields[COLUMN[name]]);
  const shareId = fields[COLUMN.shareId] || null;
  const departures = column("departure");
  const spans = column("arrival").map((arrivalDate, stay) => ({
    arrival: dayOfText(arrivalDate as string),
    departure: dayOfText(departures[stay] as string),
  }));
  if (hasTooMany(spans)) return { shareId, runs: [] };
  const rooms = boundedCount(wholeOf(fields[COLUMN.numberOfRooms]) ?? 1);
  const rates = ratesByStay(column);
  const { dates, revenue } = revenueByDate(column);
  const leftDates = new Unclaimed(dates.length);
  const stays = {
    roomType: column("roomType"),
    bookedRoomType: column("bookedRoomType"),
    segment: column("segment"),
    group: column("group"),
    rateCode: column("rateCode"),
    currency: column("currency"),
    adults: column("adults"),
    children: column("children"),
  };
  const channel = fields[COLUMN.channel] ?? null;
  const runs: NightRun[] = [];
  spans.forEach(({ arrival, departure }, stay) => {
    if (departure <= arrival) return;
    const days = leftDates
      .claim(placeOf(dates, arrival), placeOf(dates, departure))
      .map((place) => [dates[place] as number, revenue[place] ?? null] as const);
    const about = {
      rooms,
      adults: boundedCount((wholeOf(stays.adults[stay]) ?? 0) * rooms),
      children: boundedCount((wholeOf(stays.children[stay]) ?? 0) * rooms),
      codes: {
        status,
        roomTypeCode: stays.roomType[stay] ?? null,
        bookedRoomTypeCode: stays.bookedRoomType[stay] ?? null,
        marketSegmentCode: stays.segment[stay] ?? null,
        groupBlockCode: stays.group[stay] ?? null,
        rateCode: stays.rateCode[stay] ?? null,
        channel,
        currencyCode: stays.currency[stay] ?? null,
      },
    };
    addRuns(runs, about, stretchesOf(arrival, departure, rates.get(stay) ?? [], days));
  });
  return { shareId, runs };
}

function hasTooMany(spans: readonly { readonly arrival: number; readonly departure: number }[]): boolean {
  let all = 0;
  for (const { arrival, departure } of spans) {
    const nights = Math.max(0, departure - arrival);
    if (nights > STAY_NIGHTS_MAX) return true;
    all += nights;
  }
  return all > RESERVATION_NIGHTS_MAX;
}

type AboutStay = Pick<NightRun, "rooms" | "adults" | "children" | "codes">;

/** Adds the stretches of a stay, those that follow each other and are alike as one run. */
function addRuns(runs: NightRun[], about: AboutStay, stretches: readonly Stretch[]): void {
  let last: NightRun | undefined;
  for (const { from, to, rate, revenue } of stretches) {
    const roomRevenue = revenue ?? timesWhole(rate?.net ?? null, about.rooms);
    const grossRoomRevenue = timesWhole(rate?.gross ?? null, about.rooms);
    if (
      last !== undefined &&
      last.roomRevenue === roomRevenue &&
      last.grossRoomRevenue === grossRoomRevenue
    ) {
      last = { ...last, nights: last.nights + to - from };
      runs[runs.length - 1] = last;
    } else {
      last = { ...about, firstNight: from, nights: to - from, roomRevenue, grossRoomRevenue };
      runs.push(last);
    }
  }
}
