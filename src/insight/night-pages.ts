import type { Queryable } from "../db/transaction.ts";
import type { Position } from "../read/position.ts";
import { compareCodes } from "./books-position.ts";
import { type NightWindow, NightWindows, WINDOWS_MAX } from "./night-windows.ts";
import type { InsightPage } from "./on-the-books.ts";
import type { InsightProperty } from "./point-in-time.ts";
import { QuestionTooLarge } from "./question.ts";
import { addDays } from "./stay-date.ts";

/** What is paged: items of nights, in the order of their positions, of which the first part is the night. */
export interface NightItems<Item> {
  readonly client: Queryable;
  readonly property: InsightProperty;
  readonly from: string;
  readonly to: string;
  /** Whether a night has more than one item as a rule. */
  readonly isGrouped: boolean;
  /** Throws QuestionTooLarge where that is too much for one window. */
  read(window: NightWindow): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** A position before every item of a night and after those of the nights before. */
  beginOf(night: string): Position;
}

/** Nights of a window: what each is made of (a thousand room types, say) all comes to this thread. */
const NIGHTS_MAX = 100;

async function readWindow<Item>(
  nights: NightItems<Item>,
  windows: NightWindows,
  window: NightWindow,
): Promise<readonly Item[] | undefined> {
  try {
    return await nights.read(window);
  } catch (error) {
    if (!(error instanceof QuestionTooLarge)) throw error;
    windows.shorten(window);
    return undefined;
  }
}

function comparePositions(one: Position, other: Position): number {
  for (const [at, part] of one.entries()) {
    const against = other[at];
    const order =
      typeof part === "string" && typeof against === "string"
        ? compareCodes(part, against)
        : Number(part) - Number(against);
    if (order !== 0) return order;
  }
  return 0;
}

/** At most `limit` items after a position, window by window. A page ends early where it has looked at very many nights without any. */
export async function pageOfNights<Item>(
  nights: NightItems<Item>,
  start: Position | null,
  limit: number,
): Promise<InsightPage<Item>> {
  const { from, to, isGrouped } = nights;
  const begun = start === null ? from : String(start[0]);
  const first = begun < from ? from : begun;
  if (first > to) return { items: [], next: null };
  const items: Item[] = [];
  const windows = new NightWindows(first, to, isGrouped, limit + 1, NIGHTS_MAX);
  let passed: NightWindow | undefined;
  for (let count = 0; count < WINDOWS_MAX && items.length <= limit; count += 1) {
    const window = await windows.nextOfFew(nights.client, nights.property, true);
    if (window === undefined) break;
    const wanted = limit + 1 - items.length;
    const read = await readWindow(nights, windows, window);
    if (read === undefined) continue;
    const found = read.filter(
      (item) => start === null || comparePositions(nights.positionOf(item), start) > 0,
    );
    items.push(...found.slice(0, wanted));
    windows.passed(window, found.length, wanted);
    passed = window;
  }
  if (items.length > limit) {
    const page = items.slice(0, limit);
    return { items: page, next: nights.positionOf(page.at(-1) as Item) };
  }
  const isEnd = passed === undefined || windows.next() === undefined;
  return { items, next: isEnd ? null : nights.beginOf(addDays(passed?.last ?? to, 1)) };
}
