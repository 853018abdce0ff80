import { addDays, daysBetween } from "#contract/dates.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import type { ComparisonContext } from "./compared-books.ts";
import { itemOf, type Reported, readReport } from "./daily-report.ts";
import { yearAfter } from "./days-of-answer.ts";
import { tenThousandthsOf } from "./exact-amount.ts";
import type { Addend, Column } from "./exact-sums.ts";
import { BOOKED_AMOUNTS, BOOKED_COUNTS, COMPARED_AMOUNTS, COMPARED_COUNTS } from "./figures-of-sums.ts";
import type { Asked } from "./insight.ts";
import { isKnownAt } from "./known-nights.ts";
import { baseOf } from "./occupancy.ts";
import { isEmpty } from "./sum-books.ts";

/** Counts that every item has. */
export const COUNTS = [
  ...BOOKED_COUNTS,
  ...["arrivals", "departures", "stayThroughs", "cancelledRooms", "noShowRooms"],
];
export const AMOUNTS = [
  ...BOOKED_AMOUNTS,
  ...["cancelledRoomRevenue", "noShowRoomRevenue", "lastYearGrossRoomRevenue"],
  ...COMPARED_AMOUNTS,
];
/** What a night has once, whatever its currencies: of the books on its first item, of last year on each. */
export const STOCK = ["capacity", "outOfOrder", "soldReported"] as const;
export const STOCK_THEN = ["lastYearCapacity", "lastYearOutOfOrder"] as const;

/** What is known of a property's last year and pickups, by stay dates of this year. */
export interface KnownDates {
  /** From which on last year at the same time is known, and last year final. */
  readonly lastYearFrom: string | null;
  readonly finalFrom: string | null;
  /** The last date whose night of last year is over. */
  readonly finalTo: string;
  /** Of each pickup. */
  readonly pickups: readonly boolean[];
}

/** Whether last year at the same time is known of all nights from a date on. */
export const knowsLastYear = ({ lastYearFrom }: KnownDates, from: string): boolean =>
  lastYearFrom !== null && lastYearFrom <= from;

/** The daily report of a property's nights around its business day, as the numbers that reports of many properties add up. */
export interface KeptReport extends KnownDates {
  readonly asOf: string;
  readonly businessDay: string;
  readonly from: string;
  readonly to: string;
  readonly currencies: readonly (string | null)[];
  /** Of each item, in order: its days after `from`, its currency, and whether it is listed for more than inventory. */
  readonly nights: readonly number[];
  readonly currency: Column;
  readonly isListed: Column;
  /** The base of occupancy on its night, now and last year. */
  readonly base: Column;
  readonly baseThen: Column;
  readonly columns: Readonly<Record<string, Column>>;
}

/** Around the business day: other properties may be a day ahead or behind, and the month has begun. */
const NIGHTS_BEHIND = 2;
const NIGHTS_AHEAD = 91;

/** The nights that are kept: the month until now, and 90 nights with a day on each side. */
export function keptNights(businessDay: string) {
  const earliest = addDays(businessDay, -NIGHTS_BEHIND);
  return { from: `${earliest.slice(0, 7)}-01`, to: addDays(businessDay, NIGHTS_AHEAD) };
}

const columnOf = (values: readonly Addend[]): Column => {
  const [first = null] = values;
  return values.every((value) => value === first) ? first : values;
};

type Settings = Pick<PropertySettings, "occupancyBase">;
type Item = Readonly<Record<string, unknown>>;

/** The base of each night by the item that has its inventory. */
function basesOf(items: readonly Item[], settings: Settings): ReadonlyMap<unknown, number | null> {
  const bases = new Map<unknown, number | null>();
  for (const { stayDate, capacity, outOfOrder } of items as readonly (Item &
    Record<"capacity" | "outOfOrder", number | null>)[])
    if (capacity !== null) bases.set(stayDate, baseOf({ capacity, outOfOrder }, settings));
  return bases;
}

function knownDates({ known, lastYearAsOf, businessDay, since }: ComparisonContext): KnownDates {
  const { night } = known;
  const first = night === null ? null : yearAfter(night);
  return {
    lastYearFrom: night !== null && isKnownAt(known, night, lastYearAsOf) ? first : null,
    finalFrom: first,
    finalTo: addDays(yearAfter(businessDay), -1),
    pickups: since.map((instant) => night !== null && isKnownAt(known, night, instant)),
  };
}

function keep(reported: readonly Reported[], from: string, settings: Settings) {
  const items: readonly Item[] = reported.map(itemOf);
  const bases = basesOf(items, settings);
  const currencies = [...new Set(reported.map(({ books }) => books.currency))];
  const places = new Map(currencies.map((currency, place) => [currency, place]));
  const of = (name: string) => items.map((item) => (item[name] ?? null) as Addend);
  const amounts = (name: string) =>
    of(name).map((text) => (text === null ? null : (tenThousandthsOf(String(text)) ?? text)));
  const thenBase = ({ lastYearCapacity, lastYearOutOfOrder }: Item) =>
    baseOf(
      { capacity: lastYearCapacity as number | null, outOfOrder: lastYearOutOfOrder as number | null },
      settings,
    );
  const counts = [...COUNTS, ...COMPARED_COUNTS, ...STOCK, ...STOCK_THEN];
  return {
    currencies,
    nights: reported.map(({ books }) => daysBetween(from, books.stayDate)),
    currency: columnOf(reported.map(({ books }) => places.get(books.currency) ?? 0)),
    isListed: columnOf(
      reported.map(({ books, moved }) => (moved !== undefined || !isEmpty(books as never) ? 1 : 0)),
    ),
    base: columnOf(items.map(({ stayDate }) => bases.get(stayDate) ?? null)),
    baseThen: columnOf(items.map(thenBase)),
    columns: {
      ...Object.fromEntries(counts.map((name) => [name, columnOf(of(name))])),
      ...Object.fromEntries(AMOUNTS.map((name) => [name, columnOf(amounts(name))])),
    },
  };
}

/**
 * Currencies that a property may sell in to have figures. Codes are a sender's: thousands of them would be a million items of ninety nights,
 * read for hours from one snapshot, and megabytes that the portfolio sums.
 */
export const KEPT_CURRENCIES_MAX = 32;

/** Reads the report that is kept. Throws QuestionTooLarge. */
export async function readKeptReport(
  asked: Pick<Asked, "client" | "question" | "queryContext">,
  context: ComparisonContext,
): Promise<KeptReport> {
  const { from, to } = keptNights(context.businessDay);
  const question = { ...asked.question, from, to };
  const reported = await readReport({ ...asked, question }, context, new WorkPauses(), KEPT_CURRENCIES_MAX);
  return {
    asOf: asked.queryContext.now.toISOString(),
    businessDay: context.businessDay,
    from,
    to,
    ...knownDates(context),
    ...keep(reported, from, asked.queryContext.settings),
  };
}
