import { LIST, NOTED } from "../contract/noted-fields.ts";
import { HEAD_NUMBERS, ITEM_NUMBERS } from "../contract/span-plan.ts";
import { TextMemory } from "../contract/text-memory.ts";
import { HEAD, type RecordSpans } from "../contract/walk-spans.ts";
import { dayAt } from "./day-number.ts";
import { tenThousandthsAt } from "./money.ts";
import { boundedCount, type DimensionCodes, type NightRun, type ReservationNights } from "./night-run.ts";

/** Stays that are longer, and rates by nights that are more, are left to `reservationNights`. */
const NIGHTS_MAX = 62;
const RATES_TIMES_NIGHTS_MAX = 2_048;

/** An amount that is not told. */
const NOT_TOLD = Number.NEGATIVE_INFINITY;

const texts = new TextMemory();

function places<Name extends string>(
  front: number,
  columns: readonly string[] = [],
  names: readonly Name[],
): Readonly<Record<Name, number>> {
  const found = names.map((name) => [name, front + 2 * columns.indexOf(name)] as const);
  return Object.fromEntries(found) as Record<Name, number>;
}

const { columns, inner } = NOTED.reservations;
const RECORD = places(HEAD_NUMBERS, columns, ["numberOfRooms", "shareId", "channel"]);
const STAY = places(ITEM_NUMBERS, inner?.["roomStays"]?.columns, [
  ...(["arrivalDate", "departureDate", "roomTypeCode", "bookedRoomTypeCode", "marketSegmentCode"] as const),
  ...(["groupBlockCode", "rateCode", "currencyCode", "numberOfAdults", "numberOfChildren"] as const),
]);
const RATE = places(ITEM_NUMBERS, inner?.["roomStays"]?.inner?.["rates"]?.columns, [
  ...(["startDate", "endDate", "rateValue", "grossRateValue"] as const),
]);
const DAY = places(ITEM_NUMBERS, inner?.["stayRevenue"]?.inner?.["daily"]?.columns, [
  ...(["occupancyDate", "netRoomRevenue"] as const),
]);

/** Of the record that is looked at: net and gross of each night of its one stay. One is looked at at a time. */
const revenue = new Float64Array(NIGHTS_MAX);
const net = new Float64Array(NIGHTS_MAX);
const gross = new Float64Array(NIGHTS_MAX);

/** A text column, null where it is left out. */
function textOf({ bytes, slab, base }: RecordSpans, column: number): string | null {
  const mark = slab[base + column] as number;
  return mark === 0 ? null : texts.textAt(bytes, mark >>> 1, slab[base + column + 1] as number);
}

/** A whole number of at most nine digits. */
function countOf({ bytes, slab, base }: RecordSpans, column: number, otherwise: number): number {
  const mark = slab[base + column] as number;
  if (mark === 0) return otherwise;
  const start = mark >>> 1;
  const end = slab[base + column + 1] as number;
  const isNegative = bytes[start] === 0x2d;
  let count = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1)
    count = count * 10 + (bytes[at] as number) - 0x30;
  return isNegative ? -count : count;
}

/** An amount in ten-thousandths; NOT_TOLD where it is left out, NaN where it is not so simple. */
function amountOf({ bytes, slab, base }: RecordSpans, column: number): number {
  const mark = slab[base + column] as number;
  return mark === 0 ? NOT_TOLD : tenThousandthsAt(bytes, mark >>> 1, slab[base + column + 1] as number);
}

function dayOf({ bytes, slab, base }: RecordSpans, column: number): number {
  return dayAt(bytes, (slab[base + column] as number) >>> 1);
}

/** Notes the revenue of each night of a stay; false where it is not plain. */
function noteRevenue(spans: RecordSpans, arrival: number, nights: number): boolean {
  const { slab, base } = spans;
  revenue.fill(NOT_TOLD, 0, nights);
  const first = slab[base + HEAD.firstOfList + LIST.days] as number;
  for (let day = first; day !== 0; day = slab[base + day] as number) {
    const amount = amountOf(spans, day + DAY.netRoomRevenue);
    if (amount === NOT_TOLD) continue;
    const night = dayOf(spans, day + DAY.occupancyDate) - arrival;
    if (night < 0 || night >= nights) continue;
    if (Number.isNaN(amount) || revenue[night] !== NOT_TOLD) return false;
    revenue[night] = amount;
  }
  return true;
}

/** Notes net and gross of each night for all rooms by the last rate that covers it; false where they are not plain. */
function noteRates(spans: RecordSpans, arrival: number, nights: number, rooms: number): boolean {
  const { slab, base } = spans;
  net.fill(NOT_TOLD, 0, nights);
  gross.fill(NOT_TOLD, 0, nights);
  let left = RATES_TIMES_NIGHTS_MAX;
  const first = slab[base + HEAD.firstOfList + LIST.rates] as number;
  for (let rate = first; rate !== 0; rate = slab[base + rate] as number) {
    left -= nights;
    if (left < 0) return false;
    const hasStart = slab[base + rate + RATE.startDate] !== 0;
    const hasEnd = slab[base + rate + RATE.endDate] !== 0;
    const from = hasStart ? Math.max(0, dayOf(spans, rate + RATE.startDate) - arrival) : 0;
    const to = hasEnd ? Math.min(nights, dayOf(spans, rate + RATE.endDate) + 1 - arrival) : nights;
    const ofNight = timesRooms(amountOf(spans, rate + RATE.rateValue), rooms);
    const grossOfNight = timesRooms(amountOf(spans, rate + RATE.grossRateValue), rooms);
    if (Number.isNaN(ofNight) || Number.isNaN(grossOfNight)) return false;
    for (let night = from; night < to; night += 1) {
      net[night] = ofNight;
      gross[night] = grossOfNight;
    }
  }
  return true;
}

/** NaN where the product is more than a double holds. */
function timesRooms(amount: number, rooms: number): number {
  if (amount === NOT_TOLD) return NOT_TOLD;
  const product = amount * rooms + 0;
  return Number.isSafeInteger(product) ? product : Number.NaN;
}

function codesOf(spans: RecordSpans, stay: number, status: string | null): DimensionCodes {
  return {
    status,
    roomTypeCode: textOf(spans, stay + STAY.roomTypeCode),
    bookedRoomTypeCode: textOf(spans, stay + STAY.bookedRoomTypeCode),
    marketSegmentCode: textOf(spans, stay + STAY.marketSegmentCode),
    groupBlockCode: textOf(spans, stay + STAY.groupBlockCode),
    rateCode: textOf(spans, stay + STAY.rateCode),
    channel: textOf(spans, RECORD.channel),
    currencyCode: textOf(spans, stay + STAY.currencyCode),
  };
}

/**
 * What `reservationNights` says, from where a record's facts stand in its bytes: for the plain ones, of one stay of at most 62
 * nights with amounts that a double holds. Undefined for all others.
 */
export function spanNights(spans: RecordSpans, status: string | null): ReservationNights | undefined {
  const { slab, base } = spans;
  const stay = slab[base + HEAD.firstOfList + LIST.stays] as number;
  if (stay === 0 || slab[base + stay] !== 0) return undefined;
  const arrival = dayOf(spans, stay + STAY.arrivalDate);
  const nights = dayOf(spans, stay + STAY.departureDate) - arrival;
  if (nights > NIGHTS_MAX) return undefined;
  const shareId = textOf(spans, RECORD.shareId) || null;
  if (nights <= 0) return { shareId, runs: [] };
  const rooms = countOf(spans, RECORD.numberOfRooms, 1);
  if (!noteRevenue(spans, arrival, nights) || !noteRates(spans, arrival, nights, rooms)) return undefined;
  const adults = boundedCount(countOf(spans, stay + STAY.numberOfAdults, 0) * rooms);
  const children = boundedCount(countOf(spans, stay + STAY.numberOfChildren, 0) * rooms);
  const codes = codesOf(spans, stay, status);
  const runs: NightRun[] = [];
  for (let from = 0, to = 1; from < nights; from = to, to += 1) {
    const ofNight = netOf(from);
    const grossOfNight = gross[from] as number;
    while (to < nights && netOf(to) === ofNight && gross[to] === grossOfNight) to += 1;
    runs.push({
      firstNight: arrival + from,
      nights: to - from,
      rooms,
      adults,
      children,
      roomRevenue: ofNight === NOT_TOLD ? null : ofNight,
      grossRoomRevenue: grossOfNight === NOT_TOLD ? null : grossOfNight,
      codes,
    });
  }
  return { shareId, runs };
}

function netOf(night: number): number {
  const told = revenue[night] as number;
  return told === NOT_TOLD ? (net[night] as number) : told;
}
