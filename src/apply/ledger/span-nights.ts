import { dayAt } from "#contract/day-number.ts";
import { LIST, NOTED } from "#contract/noted-fields.ts";
import { HEAD_NUMBERS, ITEM_NUMBERS } from "#contract/span-plan.ts";
import { TextMemory } from "#contract/text-memory.ts";
import { HEAD, type RecordSpans } from "#contract/walk-spans.ts";
import { boundedCount, type DimensionCodes, type ReservationNights, tenThousandthsAt } from "./night-run.ts";
import { NOT_TOLD, PlainStay } from "./plain-stay.ts";

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

/** Of the record that is looked at; one is at a time. */
const plain = new PlainStay();

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

/** Notes the revenue of each day; false where it is not plain. */
function noteRevenue(spans: RecordSpans): boolean {
  const { slab, base } = spans;
  const first = slab[base + HEAD.firstOfList + LIST.days] as number;
  for (let day = first; day !== 0; day = slab[base + day] as number) {
    const amount = amountOf(spans, day + DAY.netRoomRevenue);
    if (!plain.noteRevenue(dayOf(spans, day + DAY.occupancyDate), amount)) return false;
  }
  return true;
}

/** Notes the rates of the stay, which are for all of its nights where they do not name them; false where they are not plain. */
function noteRates(spans: RecordSpans, arrival: number, departure: number): boolean {
  const { slab, base } = spans;
  const first = slab[base + HEAD.firstOfList + LIST.rates] as number;
  for (let rate = first; rate !== 0; rate = slab[base + rate] as number) {
    const hasStart = slab[base + rate + RATE.startDate] !== 0;
    const hasEnd = slab[base + rate + RATE.endDate] !== 0;
    const from = hasStart ? dayOf(spans, rate + RATE.startDate) : arrival;
    const to = hasEnd ? dayOf(spans, rate + RATE.endDate) : departure - 1;
    const [net, gross] = [
      amountOf(spans, rate + RATE.rateValue),
      amountOf(spans, rate + RATE.grossRateValue),
    ];
    if (!plain.noteRate(from, to, net, gross)) return false;
  }
  return true;
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
  const departure = dayOf(spans, stay + STAY.departureDate);
  const rooms = countOf(spans, RECORD.numberOfRooms, 1);
  if (!plain.begin(arrival, departure, rooms)) return undefined;
  const shareId = textOf(spans, RECORD.shareId) || null;
  if (departure <= arrival) return { shareId, runs: [] };
  if (!noteRevenue(spans) || !noteRates(spans, arrival, departure)) return undefined;
  const adults = boundedCount(countOf(spans, stay + STAY.numberOfAdults, 0) * rooms);
  const children = boundedCount(countOf(spans, stay + STAY.numberOfChildren, 0) * rooms);
  return { shareId, runs: plain.runs(adults, children, codesOf(spans, stay, status)) };
}
