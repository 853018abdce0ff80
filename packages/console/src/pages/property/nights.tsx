import { type ReactNode, useMemo } from "react";
import type { OnTheBooksAnswer, OnTheBooksItem, PropertyCodes } from "../../contract.ts";
import { type Asked, addressOf, useAnswer } from "../../data/queries.ts";
import {
  addDays,
  addMoney,
  divideMoney,
  writeChange,
  writeCount,
  writeDate,
  writeDay,
  writeMoney,
  writePoints,
  writeShare,
  YEAR_DAYS,
} from "../../field/format.ts";
import { Answered, Figures } from "../../parts/page.tsx";
import type { Range } from "../../parts/range.tsx";
import { orDash } from "../../parts/values.tsx";
import { AsOf, ROWS_MAX, useMeasure, usePointInTime } from "./property-page.tsx";

/** On the books at the point in time of the page's address, compared with last year. */
export function useBooks(codes: PropertyCodes, range: Range, by?: string): Asked<OnTheBooksAnswer> {
  const parameters = { ...codes, ...range, ...usePointInTime(), limit: ROWS_MAX, by, compare: "lastYear" };
  return useAnswer(addressOf("insight/on-the-books", parameters), { keeps: true });
}

const isCompared = ({ lastYearRooms }: OnTheBooksItem) =>
  lastYearRooms !== null && lastYearRooms !== undefined;

/** Last year's figures of compared items, as items of their own nights; without those that are not known. */
export function lastYearItems(items: readonly OnTheBooksItem[]): readonly OnTheBooksItem[] {
  return items.filter(isCompared).map((item) => ({
    ...item,
    stayDate: addDays(item.stayDate, -YEAR_DAYS),
    rooms: item.lastYearRooms ?? 0,
    roomRevenue: item.lastYearRooms === 0 ? null : (item.lastYearRoomRevenue ?? null),
    capacity: item.lastYearCapacity ?? null,
    outOfOrder: item.lastYearOutOfOrder ?? null,
    occupancy: item.lastYearOccupancy ?? null,
    adr: item.lastYearAdr ?? null,
    revpar: item.lastYearRevpar ?? null,
  }));
}

/** Last year's rows of a page. */
export interface LastYearRows extends NightRows {
  /** Some night is known. */
  readonly isAny: boolean;
  /** Whether a night of last year is known, and all its rows are on the page. */
  readonly isKnown: (night: string) => boolean;
  readonly knownFrom: string | null;
}

export function lastYearRows(rows: NightRows, knownFrom: string | null): LastYearRows {
  const items = lastYearItems(rows.items);
  const isWhole = (night: string) => rows.isWhole(addDays(night, YEAR_DAYS));
  const isAny = items.length > 0;
  const isKnown = (night: string) => isAny && knownFrom !== null && night >= knownFrom && isWhole(night);
  return { items, isWhole, isAll: rows.isAll, isAny, isKnown, knownFrom };
}

export function isNothing({ rooms, capacity }: OnTheBooksItem): boolean {
  return rooms === 0 && capacity === null;
}

/** A page of rows; `isWhole` marks nights whose rows are all on the page. */
export interface NightRows {
  readonly items: readonly OnTheBooksItem[];
  readonly isWhole: (night: string) => boolean;
  /** There are no further pages. */
  readonly isAll: boolean;
}

/** A night at the edge of a page may continue on the next. */
export function nightRows(
  items: readonly OnTheBooksItem[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): NightRows {
  const [first, last] = [items[0]?.stayDate ?? "", items.at(-1)?.stayDate ?? ""];
  return {
    items,
    isWhole: (night) => (isFirst || night > first) && (isLast || night < last),
    isAll: isFirst && isLast,
  };
}

/** A sum of nights; money is in one currency. */
export interface Totals {
  readonly rooms: number;
  readonly revenue: string | null;
  readonly occupancy: number | null;
  readonly adr: string | null;
  readonly revpar: string | null;
}

/** Occupancy and RevPAR cover the nights whose capacity inventory reports. */
export function addUp(items: readonly OnTheBooksItem[], currency: string | undefined): Totals {
  const priced = items.filter((item) => item.currency === currency && item.roomRevenue !== null);
  const revenueOf = (some: readonly OnTheBooksItem[]) =>
    addMoney(some.map((item) => item.roomRevenue ?? "0"));
  const bases = baseByNight(items);
  const base = [...bases.values()].reduce((sum, rooms) => sum + rooms, 0);
  const within = (some: readonly OnTheBooksItem[]) => some.filter(({ stayDate }) => bases.has(stayDate));
  const revenue = priced.length === 0 ? null : revenueOf(priced);
  return {
    rooms: roomsOf(items),
    revenue,
    occupancy: base === 0 ? null : roomsOf(within(items)) / base,
    adr: revenue === null ? null : divideMoney(revenue, roomsOf(priced)),
    revpar: revenue === null && roomsOf(items) > 0 ? null : divideMoney(revenueOf(within(priced)), base),
  };
}

/** Shown if last year's figures are unknown, or known in part. */
export function LastYearNote({ of, range: { from, to } }: { of: LastYearRows; range: Range }) {
  const { knownFrom, isAny } = of;
  const first = addDays(from, -YEAR_DAYS);
  if (isAny && (knownFrom === null || knownFrom <= first)) return null;
  return (
    <p className="small muted">
      {knownFrom === null
        ? `No data for last year (${writeDate(first)} to ${writeDate(addDays(to, -YEAR_DAYS))}).`
        : `Last year is known from ${writeDate(knownFrom)}. Sums and changes are of nights that both years know.`}
    </p>
  );
}

export function roomsOf(items: readonly { readonly rooms: number }[]): number {
  return items.reduce((sum, { rooms }) => sum + rooms, 0);
}

/** The occupancy base by night. The settings define whether it includes rooms out of order; a row's occupancy reveals which applies. */
function baseByNight(items: readonly OnTheBooksItem[]): ReadonlyMap<string, number> {
  const isOfAvailable = items.some(({ rooms, capacity, outOfOrder, occupancy }) => {
    if (rooms === 0 || capacity === null || outOfOrder === null || outOfOrder === 0 || occupancy === null)
      return false;
    const offBy = (base: number) => Math.abs(Number(occupancy) - rooms / base);
    return offBy(capacity - outOfOrder) < offBy(capacity);
  });
  const bases = new Map<string, number>();
  // Only the first row of a night has its capacity.
  for (const { stayDate, capacity, outOfOrder } of items) {
    const base = (capacity ?? 0) - (isOfAvailable ? (outOfOrder ?? 0) : 0);
    if (base > 0) bases.set(stayDate, base);
  }
  return bases;
}

const NONE: readonly OnTheBooksItem[] = [];

interface KeyFiguresProps {
  readonly codes: PropertyCodes;
  readonly range: Range;
  /** Says the instant of the figures. */
  readonly isDated?: boolean;
}

/** The sums of the nights, compared with the same weekdays last year. */
export function KeyFigures({ codes, range, isDated = false }: KeyFiguresProps) {
  const asked = useBooks(codes, range);
  const { data } = asked;
  const items = data?.items ?? NONE;
  const { measure, currencies } = useMeasure(items);
  const currency = measure.of === "revenue" ? measure.currency : currencies[0];
  const isWhole = data?.nextCursor === null;
  const sums = useMemo(
    () => (isWhole ? comparedSums(items, currency) : undefined),
    [isWhole, items, currency],
  );
  return (
    <Answered asked={asked} lines={3}>
      {(answer) => (
        <>
          {sums !== undefined && <Figures figures={figuresOf(sums, currency, answer.lastYearKnownFrom)} />}
          {isDated && <AsOf of={answer} lastYearAsOf={answer.lastYearAsOf} />}
        </>
      )}
    </Answered>
  );
}

interface ComparedSums {
  readonly now: Totals;
  /** Of the nights that are known of both years; null if there are none. */
  readonly comparable: { readonly now: Totals; readonly lastYear: Totals; readonly isAll: boolean } | null;
}

function comparedSums(items: readonly OnTheBooksItem[], currency: string | undefined): ComparedSums {
  const now = addUp(items, currency);
  const some = items.filter(isCompared);
  if (some.length === 0) return { now, comparable: null };
  const lastYear = addUp(lastYearItems(some), currency);
  return { now, comparable: { now: addUp(some, currency), lastYear, isAll: some.length === items.length } };
}

function figuresOf(
  { now, comparable }: ComparedSums,
  currency: string | undefined,
  knownFrom: string | null,
) {
  const noteOf = (name: keyof Totals, write: (then: string) => string): ReactNode => {
    const [value, then] = [comparable?.now[name] ?? null, comparable?.lastYear[name] ?? null];
    if (comparable === null)
      return knownFrom === null ? "no data for last year" : `last year is known from ${writeDate(knownFrom)}`;
    if (then === null) return value === null ? "" : "not known last year";
    if (value === null) return `${write(String(then))} last year`;
    const change =
      name === "occupancy"
        ? writePoints(Number(value), Number(then))
        : writeChange(Number(value), Number(then));
    const since =
      comparable.isAll || knownFrom === null
        ? ""
        : `, of nights from ${writeDay(addDays(knownFrom, YEAR_DAYS))}`;
    return `${change} on ${write(String(then))} last year${since}`;
  };
  return [
    {
      name: "Occupancy",
      value: orDash(now.occupancy, writeShare),
      note: noteOf("occupancy", writeShare),
    },
    {
      name: "Rooms",
      value: writeCount(now.rooms),
      note: noteOf("rooms", (then) => writeCount(Number(then))),
    },
    {
      name: currency === undefined ? "Room revenue" : `Room revenue, ${currency}`,
      value: orDash(now.revenue, writeMoney),
      note: noteOf("revenue", writeMoney),
    },
    { name: "ADR", value: orDash(now.adr, writeMoney), note: noteOf("adr", writeMoney) },
    { name: "RevPAR", value: orDash(now.revpar, writeMoney), note: noteOf("revpar", writeMoney) },
  ];
}

export const GROUPINGS = {
  "": "night",
  roomType: "room type",
  bookedRoomType: "booked room type",
  marketSegment: "market segment",
  rateCode: "rate code",
  channel: "channel",
  group: "group",
} as const;
export type Grouping = Exclude<keyof typeof GROUPINGS, "">;

export function nameOfGroup(item: OnTheBooksItem, by: Grouping): string {
  return item[by] ?? "none";
}
