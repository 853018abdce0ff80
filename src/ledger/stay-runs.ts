import { sumOf, timesWhole } from "./money.ts";
import { elementsOf, fieldsOfRow } from "./read-facts.ts";
import { Unclaimed } from "./unclaimed.ts";

/** Nights that follow each other and are alike: of one stay, with the same revenue. */
export interface StayRun {
  /** Days since 1970-01-01. */
  readonly firstNight: number;
  readonly nights: number;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  /** Exact decimals, of one night, for all its rooms; null where the record tells neither revenue nor rate. */
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly roomTypeCode: string | null;
  readonly bookedRoomTypeCode: string | null;
  readonly marketSegmentCode: string | null;
  readonly groupBlockCode: string | null;
  readonly rateCode: string | null;
  readonly currencyCode: string | null;
}

/** What a version of a reservation says of nights. */
export interface ReservationNights {
  readonly channel: string | null;
  /** Null where it is not shared: an empty id is none. */
  readonly shareId: string | null;
  readonly runs: readonly StayRun[];
}

/** Where each column stands in a `bellhop.reservation_facts` (migration 0005). */
const COLUMN = {
  ...{ numberOfRooms: 3, shareId: 5, channel: 6, arrival: 8, departure: 9, roomType: 10, bookedRoomType: 11 },
  ...{ segment: 12, group: 13, rateCode: 15, currency: 16, adults: 17, children: 18 },
  ...{
    rateStay: 19,
    rateStart: 20,
    rateEnd: 21,
    rate: 22,
    grossRate: 23,
    revenueDate: 24,
    netRoomRevenue: 25,
  },
} as const;

const digitsOf = (text: string, from: number): number =>
  text.charCodeAt(from) * 10 + text.charCodeAt(from + 1) - 528;
const DAYS_BEFORE_MARCH_0 = 719_468;

/** Days from 1970-01-01 to a date `YYYY-MM-DD`: a year counted from March ends with its leap day (Date.parse takes ten times as long). */
function dayOf(date: string): number {
  const month = digitsOf(date, 5);
  const year = digitsOf(date, 0) * 100 + digitsOf(date, 2) - (month <= 2 ? 1 : 0);
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + digitsOf(date, 8) - 1;
  const leaps = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
  return year * 365 + leaps + ofYear - DAYS_BEFORE_MARCH_0;
}
const wholeOf = (text: string | null | undefined): number | null => (text == null ? null : Number(text));

interface Rate {
  /** The first night that it is for, and the first after. */
  readonly from: number;
  readonly to: number;
  readonly net: string | null;
  readonly gross: string | null;
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
      from: start === null ? Number.NEGATIVE_INFINITY : dayOf(start),
      to: end === null ? Number.POSITIVE_INFINITY : dayOf(end) + 1,
      net: net[at] ?? null,
      gross: gross[at] ?? null,
    };
    const ofStay = rates.get(Number(stay));
    if (ofStay === undefined) rates.set(Number(stay), [rate]);
    else ofStay.push(rate);
  });
  return rates;
}

/** Revenue by date, in the order of dates. A date that is named twice has the sum. */
function revenueByDate(column: Column): { dates: number[]; revenue: (string | null)[] } {
  const net = column("netRoomRevenue");
  const dates = column("revenueDate").map((date) => dayOf(date as string));
  if (dates.every((date, at) => at === 0 || date > (dates[at - 1] as number)))
    return { dates, revenue: dates.map((_, at) => timesWhole(net[at] ?? null, 1)) };
  const sums = new Map<number, string | null>();
  dates.forEach((date, at) => {
    sums.set(date, sumOf(sums.get(date) ?? null, net[at] ?? null));
  });
  const inOrder = [...sums.keys()].sort((left, right) => left - right);
  return { dates: inOrder, revenue: inOrder.map((date) => timesWhole(sums.get(date) ?? null, 1)) };
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
  readonly revenue: string | null;
}

/** A stay parted wherever its rate or its revenue may change. The last rate that covers a night is the night's. */
function stretchesOf(
  arrival: number,
  departure: number,
  rates: readonly Rate[],
  days: readonly (readonly [number, string | null])[],
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
 * The nights of a reservation as its facts tell them, in runs of nights that are alike. A night's net room revenue is the
 * daily revenue of its date, on the first stay that covers it; where none is told of the date, the rate times the rooms.
 * Gross is the gross rate times the rooms. Rooms not told are one; day use has no night.
 */
export function reservationNights(facts: string): ReservationNights {
  const fields = fieldsOfRow(facts);
  const column: Column = (name) => elementsOf(fields[COLUMN[name]]);
  const rooms = wholeOf(fields[COLUMN.numberOfRooms]) ?? 1;
  const rates = ratesByStay(column);
  const { dates, revenue } = revenueByDate(column);
  const leftDates = new Unclaimed(dates.length);
  const departures = column("departure");
  const stays = {
    ...{ roomType: column("roomType"), bookedRoomType: column("bookedRoomType"), segment: column("segment") },
    ...{ group: column("group"), rateCode: column("rateCode"), currency: column("currency") },
    ...{ adults: column("adults"), children: column("children") },
  };
  const runs: StayRun[] = [];
  column("arrival").forEach((arrivalDate, stay) => {
    const [arrival, departure] = [dayOf(arrivalDate as string), dayOf(departures[stay] as string)];
    if (departure <= arrival) return;
    const days = leftDates
      .claim(placeOf(dates, arrival), placeOf(dates, departure))
      .map((place) => [dates[place] as number, revenue[place] ?? null] as const);
    const about = {
      rooms,
      adults: wholeOf(stays.adults[stay]) ?? 0,
      children: wholeOf(stays.children[stay]) ?? 0,
      roomTypeCode: stays.roomType[stay] ?? null,
      bookedRoomTypeCode: stays.bookedRoomType[stay] ?? null,
      marketSegmentCode: stays.segment[stay] ?? null,
      groupBlockCode: stays.group[stay] ?? null,
      rateCode: stays.rateCode[stay] ?? null,
      currencyCode: stays.currency[stay] ?? null,
    };
    let last: StayRun | undefined;
    for (const { from, to, rate, revenue: told } of stretchesOf(
      arrival,
      departure,
      rates.get(stay) ?? [],
      days,
    )) {
      const roomRevenue = told ?? timesWhole(rate?.net ?? null, rooms);
      const grossRoomRevenue = timesWhole(rate?.gross ?? null, rooms);
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
  });
  return { channel: fields[COLUMN.channel] ?? null, shareId: fields[COLUMN.shareId] || null, runs };
}
