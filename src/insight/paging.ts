import { isCalendarDate } from "#contract/calendar.ts";
import { addDays, daysBetween } from "#contract/dates.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { Property } from "../query/property.ts";
import { lastYearOf, yearAfter } from "./days-of-answer.ts";
import { type NightWindow, QuestionTooLarge, type StayQuestion } from "./question.ts";

/** A row of nights in answer order: stay date, group, currency; nulls last. */
export interface BooksPlace {
  /** `YYYY-MM-DD`. */
  readonly night: string;
  readonly unit: string | null;
  readonly currency: string | null;
}

const CHARACTERS_MAX = 128;
/** Parts of positions: a flag, a possibly empty code, a night. */
export const isFlag = (part: string | number) => part === 0 || part === 1;

export function isCode(part: string | number): boolean {
  return (
    typeof part === "string" &&
    part.length <= 2 * CHARACTERS_MAX &&
    part.isWellFormed() &&
    !part.includes("\0")
  );
}

export const isNight = (part: string | number) => typeof part === "string" && isCalendarDate(part);

export const BOOKS_POSITION: PositionShape = [isNight, isFlag, isCode, isFlag, isCode];

/** A row's position for a cursor. */
function positionOf({ night, unit, currency }: BooksPlace): Position {
  return [night, unit === null ? 1 : 0, unit ?? "", currency === null ? 1 : 0, currency ?? ""];
}

/** The row of a position. */
export function placeOf([night, noUnit, unit, noCurrency, currency]: Position): BooksPlace {
  return {
    night: String(night),
    unit: noUnit === 1 ? null : String(unit),
    currency: noCurrency === 1 ? null : String(currency),
  };
}

/** Parameters of a statement that continues after a position. */
export function afterPlace(start: Position | null): (string | boolean)[] {
  const [night, noUnit, unit, noCurrency, currency] = start ?? ["-infinity", 1, "", 1, ""];
  return [String(night), noUnit === 1, String(unit), noCurrency === 1, String(currency)];
}

const SURROGATES = 0xd8_00;
const AFTER_SURROGATES = 0xe0_00;
/** A code unit's place in the order of UTF-8: surrogates are parts of the characters that come last. */
const placeOfUnit = (unit: number): number =>
  unit < SURROGATES || unit >= AFTER_SURROGATES ? unit : unit + 0x1_00_00;

/** Compares by UTF-8 bytes as PostgreSQL's collation "C" does; nulls last. */
export function compareCodes(left: string | null, right: string | null): number {
  if (left === right) return 0;
  if (left === null || right === null) return (left === null ? 1 : 0) - (right === null ? 1 : 0);
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const [one, other] = [left.charCodeAt(at), right.charCodeAt(at)];
    if (one !== other) return placeOfUnit(one) < placeOfUnit(other) ? -1 : 1;
  }
  return left.length < right.length ? -1 : 1;
}

const findNextNight = readStatement(new URL("./sql/find-next-night.sql", import.meta.url));

const weighNights = readStatement(new URL("./sql/weigh-nights.sql", import.meta.url));

/** A page that has taken this long ends early, and the next one continues. */
const PAGE_MS = 500;
/** Rows that a window may expand to: some tenths of a second in the database. */
export const LAID_OUT_MAX = 200_000;
/** The same of several nights whose stays are expanded, each of which is summed several times. */
const STAYS_LAID_OUT_MAX = 50_000;
/** Divisor for the length of a window that was too large. */
const SHRINK = 4;

/** Maximum days of a window after empty nights; bounds what one statement reads. */
const WINDOW_DAYS_MAX = 1_100;
/** Windows read per page; then it ends early, and the next page continues. */
const WINDOWS_MAX = 40;

/** What a query expands to nights: shared rooms always, some queries also blocks or all stays. */
interface Expanded {
  readonly withBlocks: boolean;
  readonly withStays?: boolean;
}

/** Number of rows that nights expand to before they are summed. */
export async function laidOutOf(
  client: Queryable,
  { bucket, propertyId }: Property,
  { first, last }: NightWindow,
  { withBlocks, withStays = false }: Expanded,
): Promise<number> {
  const values = [bucket, propertyId, first, last, withStays];
  const { rows } = await client.query<Record<"shared" | "blocks" | "stays", number>>({
    ...weighNights,
    values,
  });
  const { shared = 0, blocks = 0, stays = 0 } = rows[0] ?? {};
  return (withStays ? stays : shared) + (withBlocks ? blocks : 0);
}

/** Throws QuestionTooLarge for nights that expand to more rows than a window may. */
export async function requireLaidOut(
  client: Queryable,
  property: Property,
  window: NightWindow,
): Promise<void> {
  if ((await laidOutOf(client, property, window, { withBlocks: false })) > LAID_OUT_MAX)
    throw new QuestionTooLarge(window);
}

/** Minimum days of a window, unless it expands to too many rows. */
const WINDOW_DAYS_MIN = 14;

/** Splits a range of stay dates into windows, sized by the number of items in the previous window. */
class NightWindows {
  readonly #begunAt = performance.now();
  readonly #question: StayQuestion;
  readonly #daysMax: number;
  #first: string | null;
  #days: number;
  #hasPassed = false;

  constructor(question: StayQuestion, first: string, itemsWanted: number, daysMax: number) {
    this.#question = question;
    this.#daysMax = daysMax;
    this.#first = first;
    this.#days = this.#bounded(question.by === "none" ? itemsWanted : Math.ceil(itemsWanted / 4));
  }

  #bounded(days: number): number {
    return Math.min(Math.max(days, WINDOW_DAYS_MIN), this.#daysMax);
  }

  /** Whether the range is exhausted. */
  get areOver(): boolean {
    return this.#first === null;
  }

  /**
   * The next window, shortened to the row limit; undefined at the end, or if the page has taken long enough. Throws QuestionTooLarge if one
   * night exceeds the limit.
   */
  async next(client: Queryable, expanded: Expanded): Promise<NightWindow | undefined> {
    const { property, to } = this.#question;
    while (this.#first !== null) {
      if (this.#hasPassed && performance.now() - this.#begunAt > PAGE_MS) return undefined;
      const isLast = daysBetween(this.#first, to) < this.#days;
      const window = { first: this.#first, last: isLast ? to : addDays(this.#first, this.#days - 1) };
      const isOfStays = expanded.withStays === true && window.first !== window.last;
      const most = isOfStays ? STAYS_LAID_OUT_MAX : LAID_OUT_MAX;
      if ((await laidOutOf(client, property, window, expanded)) <= most) return window;
      this.shorten(window);
    }
    return undefined;
  }

  /** Makes the next window shorter and start where the given one did. Throws QuestionTooLarge if that had one night. */
  shorten(window: NightWindow): void {
    const { first, last } = window;
    if (first === last) throw new QuestionTooLarge(window);
    this.#days = Math.ceil((daysBetween(first, last) + 1) / SHRINK);
  }

  /** Advances past a window with `found` items. After an empty one, skips all empty nights with one query. */
  async pass(
    client: Queryable,
    window: NightWindow,
    found: number,
    wanted: number,
    { hasStock, hasLastYear = false }: Pick<NightItems<unknown>, "hasStock" | "hasLastYear">,
  ) {
    const { to } = this.#question;
    const days = daysBetween(window.first, window.last) + 1;
    this.#hasPassed = true;
    this.#days = this.#bounded(found === 0 ? days * 4 : Math.ceil((days * wanted * 1.1) / found));
    // There is no day after the last date.
    this.#first = window.last === to ? null : addDays(window.last, 1);
    if (found > 0 || this.#first === null) return;
    const own = await this.#nextNight(client, this.#first, hasStock);
    const then = hasLastYear ? await this.#nextNight(client, lastYearOf(this.#first), hasStock) : null;
    const nights = [own, then && yearAfter(then)].flatMap((night) =>
      night !== null && night <= to ? [night] : [],
    );
    this.#first = nights.sort()[0] ?? null;
  }

  /** The first night from a date on that may have items. */
  async #nextNight(client: Queryable, from: string, hasStock: boolean): Promise<string | null> {
    const { bucket, propertyId } = this.#question.property;
    const values = [bucket, propertyId, from, hasStock];
    const { rows } = await client.query<{ night: string | null }>({ ...findNextNight, values });
    return rows[0]?.night ?? null;
  }
}

/** A source of items, ordered by positions whose first part is the night. */
interface NightItems<Item> extends Expanded {
  readonly client: Queryable;
  readonly question: StayQuestion;
  /** Whether nights with only inventory have items. */
  readonly hasStock: boolean;
  /** Whether the nights 364 days earlier have items, too. */
  readonly hasLastYear?: boolean;
  /** Maximum nights per window. */
  readonly daysMax: number;
  /** Reads a window's items in order, some at a time, at least the first `wanted` after the start. May throw QuestionTooLarge before any. */
  read(window: NightWindow, wanted: number): AsyncIterable<Iterable<Item>>;
  positionOf(item: NoInfer<Item>): Position;
  /** A position after every item of a night and before those of the next. */
  endOf(night: string): Position;
}

export function comparePositions(one: Position, other: Position): number {
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

/** At most `limit` items after a position, window by window. A page ends early after very many empty nights. */
export async function pageOfNights<Item>(
  nights: NightItems<Item>,
  start: Position | null,
  limit: number,
): Promise<InsightPage<Item>> {
  const { client, question } = nights;
  const { from, to } = question;
  const begun = start === null || String(start[0]) < from ? from : String(start[0]);
  if (begun > to) return { items: [], next: null };
  const items: Item[] = [];
  const windows = new NightWindows(question, begun, limit + 1, nights.daysMax);
  const isBehindStart = (item: Item) =>
    start === null || comparePositions(nights.positionOf(item), start) > 0;
  let end: string | undefined;
  for (let count = 0; count < WINDOWS_MAX; count += 1) {
    const window = await windows.next(client, nights);
    if (window === undefined) break;
    const before = items.length;
    // From the first items on: waiting for the database is not work.
    let pauses: WorkPauses | undefined;
    try {
      for await (const some of nights.read(window, limit + 1 - before)) {
        pauses ??= new WorkPauses();
        for (const item of some) {
          if (pauses.isDue) await pauses.pause();
          if (!isBehindStart(item)) continue;
          if (items.length === limit) return { items, next: nights.positionOf(items.at(-1) as Item) };
          items.push(item);
        }
      }
    } catch (error) {
      if (!(error instanceof QuestionTooLarge)) throw error;
      windows.shorten(window);
      continue;
    }
    await windows.pass(client, window, items.length - before, limit + 1 - items.length, nights);
    end = window.last;
  }
  return { items, next: end === undefined || windows.areOver ? null : nights.endOf(end) };
}

/** Nights per window if items are summed on this thread: each may have a thousand room types. */
export const SUMMED_NIGHTS_MAX = 100;

/** Paging of items by night, group and currency. */
export const BOOKS_PAGES = {
  withBlocks: false,
  daysMax: WINDOW_DAYS_MAX,
  positionOf: ({ end }: { readonly end: BooksPlace }): Position => positionOf(end),
  endOf: (night: string): Position => positionOf({ night, unit: null, currency: null }),
};

/** Items, and where the next page starts; null at the end. */
export interface InsightPage<Item> {
  readonly items: readonly Item[];
  readonly next: Position | null;
}
