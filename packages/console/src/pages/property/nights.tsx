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
  writeMoney,
  writePoints,
  writeShare,
} from "../../field/format.ts";
import { Answered, Figures } from "../../parts/page.tsx";
import { orDash } from "../../parts/values.tsx";
import { type Range, ROWS_MAX, useMeasure, usePointInTime } from "./property-page.tsx";

/** A whole number of weeks, so weekdays match. */
export const YEAR_DAYS = 364;

/** On the books at the point in time of the page's address. */
export function useBooks(codes: PropertyCodes, range: Range, by?: string): Asked<OnTheBooksAnswer> {
  const parameters = { ...codes, ...range, ...usePointInTime(), limit: ROWS_MAX, by };
  return useAnswer(addressOf("insight/on-the-books", parameters), { keeps: true });
}

/** The same weekdays a year earlier, as known at the same time. */
export function useLastYear(
  codes: PropertyCodes,
  range: Range,
  by?: string,
  limit = ROWS_MAX,
): OnTheBooksAnswer | undefined {
  const { asOf, clock } = usePointInTime();
  // Rounded to the hour, so that the query can be cached.
  const instant = asOf ?? thisHour();
  return useAnswer<OnTheBooksAnswer>(
    addressOf("insight/on-the-books", {
      ...codes,
      from: addDays(range.from, -YEAR_DAYS),
      to: addDays(range.to, -YEAR_DAYS),
      asOf: `${addDays(instant.slice(0, 10), -YEAR_DAYS)}${instant.slice(10)}`,
      clock,
      limit,
      by,
    }),
  ).data;
}

export function thisHour(): string {
  return `${new Date().toISOString().slice(0, 13)}:00:00Z`;
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

/** Shown if last year's figures are unknown. */
export function NoLastYear({ range: { from, to } }: { range: Range }) {
  return (
    <p className="small muted">
      No data for last year ({writeDate(addDays(from, -YEAR_DAYS))} to {writeDate(addDays(to, -YEAR_DAYS))}).
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

/** The sums of the nights, compared with the same weekdays last year. */
export function KeyFigures({ codes, range }: { codes: PropertyCodes; range: Range }) {
  const asked = useBooks(codes, range);
  const before = useLastYear(codes, range);
  const items = asked.data?.items ?? NONE;
  const { measure, currencies } = useMeasure(items);
  const currency = measure.of === "revenue" ? measure.currency : currencies[0];
  const isWhole = asked.data?.nextCursor === null && (before === undefined || before.nextCursor === null);
  // Null: no data for last year. Undefined: still loading.
  const lastYear = useMemo(() => {
    if (before === undefined) return undefined;
    return before.items.every(isNothing) ? null : addUp(before.items, currency);
  }, [before, currency]);
  const now = useMemo(() => (isWhole ? addUp(items, currency) : undefined), [isWhole, items, currency]);
  return (
    <Answered asked={asked} lines={3}>
      {() => now !== undefined && <Figures figures={figuresOf(now, lastYear, currency)} />}
    </Answered>
  );
}

function figuresOf(now: Totals, lastYear: Totals | null | undefined, currency: string | undefined) {
  const noteOf = (name: keyof Totals, write: (then: string) => string): ReactNode => {
    if (lastYear === undefined) return "…";
    const [value, then] = [now[name], lastYear?.[name] ?? null];
    if (then === null)
      return value === null ? "" : lastYear === null ? "no data for last year" : "not known last year";
    if (value === null) return `${write(String(then))} last year`;
    const change =
      name === "occupancy"
        ? writePoints(Number(value), Number(then))
        : writeChange(Number(value), Number(then));
    return `${change} on ${write(String(then))} last year`;
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
