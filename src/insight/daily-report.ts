import { schemaOf } from "../platform/http/openapi/model.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { COMPARISON_FIELDS, type ComparisonContext, comparisonOf } from "./compared-books.ts";
import * as field from "./fields.ts";
import { type Asked, insight } from "./insight.ts";
import { KNOWN_FIELDS } from "./known-nights.ts";
import {
  addByCurrency,
  addMovements,
  MOVEMENT_FIELDS,
  type MovementRow,
  movementOf,
  pageOfMovements,
} from "./movements.ts";
import {
  BOOKS_FIELDS,
  LAST_YEAR_AS_OF_FIELD,
  type OnTheBooksItem,
  pageOfComparison,
} from "./on-the-books.ts";
import {
  BOOKS_PAGES,
  BOOKS_POSITION,
  type BooksPlace,
  comparePositions,
  type InsightPage,
} from "./paging.ts";
import { TOTAL_PARAMETERS } from "./parameters.ts";
import {
  datesOf,
  notSummed,
  type Period,
  pageOfSums,
  readAll,
  SUM_FIELDS,
  SUM_NAMES,
  SUM_PARAMETER,
  sumFieldsOf,
  sumOf,
} from "./periods.ts";
import { QuestionTooLarge } from "./question.ts";
import { sumBooks } from "./sum-books.ts";

/** What the report has of movements. */
const MOVED = [
  "arrivals",
  "departures",
  "stayThroughs",
  "cancelledRooms",
  "cancelledRoomRevenue",
  "cancellationRate",
  "noShowRooms",
  "noShowRoomRevenue",
  "noShowRate",
] as const;
type Moved = (typeof MOVED)[number];

const movedOf = <Of extends Record<Moved, unknown>>(of: Of) =>
  Object.fromEntries(MOVED.map((name) => [name, of[name]])) as Pick<Of, Moved>;

export const REPORT_FIELDS = {
  stayDate: field.stayDate,
  ...SUM_FIELDS,
  ...BOOKS_FIELDS,
  ...COMPARISON_FIELDS,
  ...movedOf(MOVEMENT_FIELDS),
};
export type ReportItem = field.ItemBy<typeof REPORT_FIELDS, keyof typeof SUM_FIELDS>;

/** The books of a night in a currency, and what was moved. */
export interface Reported {
  readonly books: OnTheBooksItem;
  readonly moved: MovementRow | undefined;
}

const keyOf = (night: string, currency: string | null) => JSON.stringify([night, currency]);

/** Items by a text of each, in turns. */
async function groupedBy<Item>(
  items: readonly Item[],
  keyOfItem: (item: Item) => string,
  pauses: WorkPauses,
): Promise<ReadonlyMap<string, readonly Item[]>> {
  const groups = new Map<string, Item[]>();
  for await (const some of pauses.inParts(items))
    for (const item of some) {
      const key = keyOfItem(item);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [item]);
      else group.push(item);
    }
  return groups;
}

/** Rooms without a currency and an amount are of the night's only currency, as on the books. */
async function placedMovements(
  rows: readonly MovementRow[],
  books: readonly OnTheBooksItem[],
  pauses: WorkPauses,
): Promise<readonly MovementRow[]> {
  const currencies = await groupedBy(books, ({ stayDate }) => stayDate, pauses);
  const placed: MovementRow[] = [];
  for await (const some of pauses.inParts(rows))
    for (const row of some) {
      const [only, ...others] = currencies.get(row.night)?.slice(0, 2) ?? [];
      const isPriced = row.cancelledRevenue !== null || row.noShowRevenue !== null;
      const isKept = row.currency !== null || isPriced || only === undefined || others.length > 0;
      placed.push(isKept ? row : { ...row, currency: only.currency });
    }
  return placed;
}

/**
 * Every night and currency of the range with its books, comparisons and movements. Throws QuestionTooLarge, also for more than
 * `currenciesMax` currencies.
 */
export async function readReport(
  asked: Pick<Asked, "client" | "question" | "queryContext">,
  context: ComparisonContext,
  pauses: WorkPauses,
  currenciesMax = Number.POSITIVE_INFINITY,
): Promise<readonly Reported[]> {
  const { question } = asked;
  const currencies = new Set<string | null>();
  const counted = <Item>(page: InsightPage<Item>, currencyOf: (item: Item) => string | null) => {
    for (const item of page.items) currencies.add(currencyOf(item));
    if (currencies.size > currenciesMax)
      throw new QuestionTooLarge({ first: question.from, last: question.to });
    return page;
  };
  const movements = await readAll(question, async (start, limit) =>
    counted(await pageOfMovements({ ...asked, start, limit }), ({ end }) => end.currency),
  );
  const readBooks = async (places: readonly BooksPlace[]) => {
    const read = await readAll(question, async (start, limit) =>
      counted(
        await pageOfComparison({ ...asked, start, limit }, true, context, places),
        ({ item }) => item.currency,
      ),
    );
    return read.map(({ item }) => item);
  };
  const own = movements.map(({ end }) => end);
  const first = await readBooks(own.filter(({ currency }) => currency !== null));
  const rows = await placedMovements(own, first, pauses);
  const moved = await groupedBy(rows, ({ night, currency }) => keyOf(night, currency), pauses);
  const join = async (books: readonly OnTheBooksItem[]) => {
    const reported: Reported[] = [];
    for await (const some of pauses.inParts(books))
      for (const item of some)
        reported.push({
          books: item,
          moved: moved.get(keyOf(item.stayDate, item.currency))?.reduce(addMovements),
        });
    return reported;
  };
  const report = await join(first);
  // A place has one item at most.
  const known = report.filter((item) => item.moved !== undefined).length;
  return known === moved.size ? report : join(await readBooks(rows));
}

export const NOTHING_MOVED: Omit<MovementRow, keyof BooksPlace> = {
  arrivals: 0,
  departures: 0,
  stayThroughs: 0,
  stayRooms: 0,
  stayNights: "0",
  leadRooms: 0,
  leadDays: "0",
  cancelled: 0,
  cancelledRevenue: null,
  cancelledDays: "0",
  noShows: 0,
  noShowRevenue: null,
};

/** The books of an item with their comparisons. */
type ComparedItem = OnTheBooksItem & Omit<ReportItem, Moved>;

export function itemOf({ books, moved }: Reported): ReportItem {
  const { stayDate: night, currency } = books;
  const movement = movementOf(moved ?? { ...NOTHING_MOVED, night, unit: null, currency });
  return { ...(books as ComparedItem), ...movedOf(movement) };
}

/** The sums of a period, by currency. */
async function addUp(
  { dates, items }: Pick<Period<Reported>, "dates" | "items">,
  { queryContext: { settings } }: Pick<Asked, "queryContext">,
  context: ComparisonContext,
  pauses: WorkPauses,
): Promise<ReportItem[]> {
  const moved = new Set(items.flatMap((item) => (item.moved === undefined ? [] : [item.books])));
  const own = items.map((item) => item.books);
  const books = await sumBooks({ dates, items: own }, settings, context, pauses, (item) => moved.has(item));
  const rows = await addByCurrency(items, (item) => item.moved, pauses);
  const sums: ReportItem[] = [];
  for await (const some of pauses.inParts(books))
    for (const sum of some)
      sums.push({ ...itemOf({ books: sum, moved: rows.get(sum.currency) }), ...sumFieldsOf(dates) });
  return sums;
}

const placeOf = ({ stayDate, currency }: OnTheBooksItem): BooksPlace => ({
  night: stayDate,
  unit: null,
  currency,
});

const PARAMETERS = { ...TOTAL_PARAMETERS, ...SUM_PARAMETER };
const TOTALS_MAX = 1_000;

const PAGE_FIELDS = {
  lastYearAsOf: LAST_YEAR_AS_OF_FIELD,
  ...KNOWN_FIELDS,
  totals: field.list(
    "The sum of all nights of the range by currency. Empty on further pages.",
    TOTALS_MAX,
    schemaOf("DailyReportItem") as field.Field<ReportItem>,
  ),
};

async function answer(asked: Asked<typeof PARAMETERS>) {
  const { client, question, queryContext, start, limit, parameters } = asked;
  const pauses = new WorkPauses();
  const context = await comparisonOf(client, question, queryContext, "all");
  const report = await readReport(asked, context, pauses);
  const sum = sumOf(parameters);
  const dates = datesOf(question, "total", question.from);
  const totals =
    start === null && report.length > 0 ? await addUp({ dates, items: report }, asked, context, pauses) : [];
  const beside = {
    lastYearAsOf: context.lastYearAsOf,
    lastYearKnownFrom: context.known.night,
    totals: totals.slice(0, TOTALS_MAX),
  };
  const read = async () => ({ items: report, next: null });
  if (sum !== undefined)
    return {
      ...(await pageOfSums(
        question,
        sum,
        start,
        limit,
        read,
        ({ books }) => placeOf(books),
        (period) => addUp(period, asked, context, pauses),
      )),
      beside,
    };
  const positionOf = (item: OnTheBooksItem) => BOOKS_PAGES.positionOf({ end: placeOf(item) });
  const rest: Reported[] = [];
  for await (const some of pauses.inParts(report))
    for (const item of some)
      if (rest.length <= limit && (start === null || comparePositions(positionOf(item.books), start) > 0))
        rest.push(item);
  const page: ReportItem[] = [];
  for await (const some of pauses.inParts(rest.slice(0, limit)))
    for (const item of some) page.push(itemOf(item));
  const last = page.at(-1);
  return { items: page, next: rest.length > limit && last !== undefined ? positionOf(last) : null, beside };
}

export const dailyReport = insight({
  name: "daily-report",
  operationId: "getDailyReport",
  summary: "Get the daily pickup report",
  description:
    "By stay date: what is on the books, the same time last year, last year final, pickup of 1, 3, 7 and 30 business days, cancellations and no-shows, all as of one instant, with the totals of the range. Figures that are not known are null.",
  parameters: PARAMETERS,
  item: {
    name: "DailyReportItem",
    description: "The report of one night, or of the dates added up, and one currency.",
    fields: REPORT_FIELDS,
    optional: SUM_NAMES,
  },
  page: {
    name: "DailyReportPage",
    description: "A page of the report.",
    fields: PAGE_FIELDS,
    example: { totals: [] },
  },
  position: BOOKS_POSITION,
  notAsked: (parameters) => notSummed(sumOf(parameters)),
  nothing: () => ({
    items: [],
    next: null,
    beside: { lastYearAsOf: null, lastYearKnownFrom: null, totals: [] },
  }),
  answer,
});
