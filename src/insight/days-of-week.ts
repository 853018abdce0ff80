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

export const SUM_PARAMETER = {
  sum: word(
    "What to add up: `dayOfWeek` returns one item for each day of the week, group and currency, of all its dates in the range.",
    ["none", "dayOfWeek"],
    "dayOfWeek",
    "none",
  ),
};

export const isOfWeek = ({ sum }: ValuesOf<typeof SUM_PARAMETER>): boolean => sum === "dayOfWeek";

export const WEEK_FIELDS = {
  dayOfWeek: field.count(
    "With `sum=dayOfWeek`: the day of the week, from 1 (Monday) to 7 (Sunday). `stayDate` is the first of its dates in the range.",
    2,
  ),
  dates: field.count("With `sum=dayOfWeek`: the number of its dates in the range.", 5),
};
export const WEEK_NAMES = Object.keys(WEEK_FIELDS) as (keyof typeof WEEK_FIELDS)[];

/** The dates of a range that are the same day of the week as a date of it. */
function datesOf({ from, to }: Pick<StayQuestion, "from" | "to">, date: string): NightWindow {
  const first = addDays(from, daysBetween(from, date) % WEEK_DAYS);
  const passed = daysBetween(first, to);
  return { first, last: addDays(first, passed - (passed % WEEK_DAYS)) };
}

/** The fields of a sum of these dates. */
export function weekOf({ first, last }: NightWindow) {
  return {
    stayDate: first,
    dayOfWeek: (daysBetween(FIRST_MONDAY, first) % WEEK_DAYS) + 1,
    dates: daysBetween(first, last) / WEEK_DAYS + 1,
  };
}

/** The items of one day of the week and group; those of one currency are a sum. */
export interface WeekDay<Item> {
  readonly dates: NightWindow;
  readonly unit: string | null;
  readonly items: readonly Item[];
}

/** All pages, in one snapshot. */
async function readAll<Item>(
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

/** A page of sums by day of the week. `sum` adds up the items of one day and group, and returns an item of each currency. */
export async function pageOfWeek<Item, Sum extends { readonly currency: string | null }>(
  question: StayQuestion,
  start: Position | null,
  limit: number,
  read: (start: Position | null, limit: number) => Promise<InsightPage<Item>>,
  placeOf: (item: Item) => BooksPlace,
  sum: (day: WeekDay<Item>) => readonly Sum[],
): Promise<InsightPage<Sum>> {
  const pauses = new WorkPauses();
  const days = new Map<string, { dates: NightWindow; unit: string | null; items: Item[] }>();
  for (const item of await readAll(question, read)) {
    if (pauses.isDue) await pauses.pause();
    const { night, unit } = placeOf(item);
    const dates = datesOf(question, night);
    const key = JSON.stringify([dates.first, unit]);
    const day = days.get(key) ?? { dates, unit, items: [] };
    day.items.push(item);
    days.set(key, day);
  }
  const sums: { readonly item: Sum; readonly position: Position }[] = [];
  for (const day of days.values()) {
    if (pauses.isDue) await pauses.pause();
    for (const item of sum(day)) {
      const { currency } = item;
      sums.push({
        item,
        position: BOOKS_PAGES.positionOf({ end: { night: day.dates.first, unit: day.unit, currency } }),
      });
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
