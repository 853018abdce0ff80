import { addDays, daysBetween } from "#contract/dates.ts";
import { type ValuesOf, word } from "../platform/http/parameters.ts";
import type { Position } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import * as field from "./fields.ts";
import { BOOKS_PAGES, type BooksPlace, comparePositions, type InsightPage } from "./paging.ts";
import { INSIGHT_LIMIT_MAX } from "./parameters.ts";
import { type NightWindow, QuestionTooLarge, ROWS_MAX, type StayQuestion } from "./question.ts";

const WEEK_DAYS = 7;
/** A Monday. */
const FIRST_MONDAY = "0001-01-01";
const QUARTER_MONTHS = 3;
const LAST_DATE = "9999-12-31";

/** What the dates of a range can be added up by. */
export const SUMS = ["none", "dayOfWeek", "week", "month", "quarter", "total"] as const;
export type Sum = Exclude<(typeof SUMS)[number], "none">;

export const SUM_PARAMETER = {
  sum: word(
    "What to add up: `dayOfWeek` returns one item for each day of the week, group and currency, of all its dates in the range; `week` (from Monday), `month`, `quarter` and `total` one of the dates of the period that are in the range.",
    SUMS,
    "dayOfWeek",
    "none",
  ),
};

/** Undefined: nothing is added up. */
export const sumOf = ({ sum }: ValuesOf<typeof SUM_PARAMETER>): Sum | undefined =>
  sum === "none" ? undefined : sum;

export const SUM_FIELDS = {
  dayOfWeek: field.count(
    "With `sum=dayOfWeek`: the day of the week, from 1 (Monday) to 7 (Sunday). `stayDate` is the first of its dates in the range.",
    2,
  ),
  dates: field.count("With `sum`: the number of dates added up. `stayDate` is the first of them.", 5),
};
export const SUM_NAMES = Object.keys(SUM_FIELDS) as (keyof typeof SUM_FIELDS)[];

/** Fields that an answer with these sums does not have. */
export function notSummed(sum: Sum | undefined): readonly (keyof typeof SUM_FIELDS)[] {
  if (sum === undefined) return SUM_NAMES;
  return sum === "dayOfWeek" ? [] : ["dayOfWeek"];
}

/** Dates that are added up: every day of a window, or every seventh. */
export interface Dates extends NightWindow {
  readonly every: 1 | typeof WEEK_DAYS;
}

const weekDayOf = (date: string): number => (daysBetween(FIRST_MONDAY, date) % WEEK_DAYS) + 1;

/** The calendar period of a date. */
function periodOf(sum: Exclude<Sum, "dayOfWeek" | "total">, date: string): NightWindow {
  if (sum === "week") {
    const first = addDays(date, 1 - weekDayOf(date));
    return { first, last: addDays(first, WEEK_DAYS - 1) };
  }
  const months = sum === "month" ? 1 : QUARTER_MONTHS;
  const [year, month] = [Number(date.slice(0, 4)), Number(date.slice(5, 7)) - 1];
  const begun = month - (month % months);
  const firstOf = (at: number) =>
    `${String(year + Math.floor(at / 12)).padStart(4, "0")}-${String((at % 12) + 1).padStart(2, "0")}-01`;
  const last = year === 9999 && begun + months === 12 ? LAST_DATE : addDays(firstOf(begun + months), -1);
  return { first: firstOf(begun), last };
}

/** The dates of a range that are added up with a date of it. */
export function datesOf({ from, to }: Pick<StayQuestion, "from" | "to">, sum: Sum, date: string): Dates {
  if (sum === "dayOfWeek") {
    const first = addDays(from, daysBetween(from, date) % WEEK_DAYS);
    const passed = daysBetween(first, to);
    return { first, last: addDays(first, passed - (passed % WEEK_DAYS)), every: WEEK_DAYS };
  }
  if (sum === "total") return { first: from, last: to, every: 1 };
  const { first, last } = periodOf(sum, date);
  return { first: first < from ? from : first, last: last > to ? to : last, every: 1 };
}

/** The fields of a sum of these dates. */
export function sumFieldsOf({ first, last, every }: Dates) {
  return {
    stayDate: first,
    ...(every === 1 ? {} : { dayOfWeek: weekDayOf(first) }),
    dates: daysBetween(first, last) / every + 1,
  };
}

/** The items of the dates and group of a sum; those of one currency are one item. */
export interface Period<Item> {
  readonly dates: Dates;
  readonly unit: string | null;
  readonly items: readonly Item[];
}

/** All pages, in one snapshot. Throws QuestionTooLarge. */
export async function readAll<Item>(
  question: StayQuestion,
  read: (start: Position | null, limit: number) => Promise<InsightPage<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let start: Position | null = null;
  do {
    const page: InsightPage<Item> = await read(start, INSIGHT_LIMIT_MAX);
    for (const item of page.items) items.push(item);
    if (items.length > ROWS_MAX) throw new QuestionTooLarge({ first: question.from, last: question.to });
    start = page.next;
  } while (start !== null);
  return items;
}

/** A page of sums. `add` adds up the items of one period and group in turns, and returns an item of each currency. */
export async function pageOfSums<Item, Added extends { readonly currency: string | null }>(
  question: StayQuestion,
  sum: Sum,
  start: Position | null,
  limit: number,
  read: (start: Position | null, limit: number) => Promise<InsightPage<Item>>,
  placeOf: (item: Item) => BooksPlace,
  add: (period: Period<Item>, pauses: WorkPauses) => Promise<readonly Added[]>,
): Promise<InsightPage<Added>> {
  const pauses = new WorkPauses();
  const periods = new Map<string, { dates: Dates; unit: string | null; items: Item[] }>();
  for (const item of await readAll(question, read)) {
    if (pauses.isDue) await pauses.pause();
    const { night, unit } = placeOf(item);
    const dates = datesOf(question, sum, night);
    const key = JSON.stringify([dates.first, unit]);
    const period = periods.get(key) ?? { dates, unit, items: [] };
    period.items.push(item);
    periods.set(key, period);
  }
  const sums: { readonly item: Added; readonly position: Position }[] = [];
  for (const period of periods.values()) {
    for await (const some of pauses.inParts(await add(period, pauses)))
      for (const item of some) {
        const { currency } = item;
        const end = { night: period.dates.first, unit: period.unit, currency };
        sums.push({ item, position: BOOKS_PAGES.positionOf({ end }) });
      }
  }
  const left: typeof sums = [];
  for await (const some of pauses.inParts(sums))
    left.push(...some.filter(({ position }) => start === null || comparePositions(position, start) > 0));
  const rest = await pauses.sorted(left, (one, other) => comparePositions(one.position, other.position));
  const page = rest.slice(0, limit);
  return {
    items: page.map(({ item }) => item),
    next: rest.length > limit ? (page.at(-1)?.position ?? null) : null,
  };
}
