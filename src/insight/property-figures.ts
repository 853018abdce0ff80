import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { addDays, datesFrom } from "#contract/dates.ts";
import { lowestIdAt } from "../ingest/log/part-name.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import type { Position } from "../platform/http/position.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import type { Property, PropertyCodes } from "../query/property.ts";
import { businessDayOf, endOfBusinessDay } from "../settings/business-day.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import { type ComparisonContext, comparisonOf } from "./compared-books.ts";
import { newestArrivals } from "./console/feed-glance.ts";
import { lastYearOf, sinceOf } from "./days-of-answer.ts";
import { minus, plus } from "./exact-amount.ts";
import type { Asked } from "./insight.ts";
import { KEPT_CURRENCIES_MAX, type KeptReport, readKeptReport } from "./kept-report.ts";
import { isKnownAt } from "./known-nights.ts";
import { type OnTheBooksItem, pageOfBooks } from "./on-the-books.ts";
import { compareCodes, type InsightPage } from "./paging.ts";
import { onQueryContext, type QueryContext } from "./query-context.ts";
import { QuestionTooLarge, type StayQuestion } from "./question.ts";
import { pageOfReconciliation } from "./reconciliation.ts";

/** Numbers of nights, from today, that a portfolio can show. */
export const PORTFOLIO_NIGHTS = [1, 7, 30, 90] as const;
export type PortfolioNights = (typeof PORTFOLIO_NIGHTS)[number];
const NIGHTS_MAX = 90;
/** Business days whose changes a pickup counts. */
const PICKUP_DAYS = { day: 1, week: 7 } as const;

/** Rooms and net room revenue in one currency; `based`: of nights with a reported capacity. */
export interface CurrencySum {
  readonly currency: string | null;
  readonly rooms: number;
  readonly revenue: string | null;
  readonly basedRevenue: string | null;
  /** Net revenue without a room night by cause (docs/figures.md); null: none. */
  readonly dayUseRevenue: string | null;
  readonly feeRevenue: string | null;
  readonly outsideStayRevenue: string | null;
}

const WITHOUT_NIGHT = ["dayUseRevenue", "feeRevenue", "outsideStayRevenue"] as const;

/** An amount of a currency without rooms or revenue. */
export const NO_AMOUNT = {
  rooms: 0,
  revenue: null,
  basedRevenue: null,
  dayUseRevenue: null,
  feeRevenue: null,
  outsideStayRevenue: null,
};

export const hasWithoutNight = (of: Pick<CurrencySum, (typeof WITHOUT_NIGHT)[number]>): boolean =>
  WITHOUT_NIGHT.some((name) => of[name] !== null);

/** Adds the revenue without a room night of an item or a sum. */
export function addWithoutNight(
  sum: { -readonly [Name in (typeof WITHOUT_NIGHT)[number]]: CurrencySum[Name] },
  more: Pick<CurrencySum, (typeof WITHOUT_NIGHT)[number]>,
): void {
  for (const name of WITHOUT_NIGHT) sum[name] = plus(sum[name], more[name]);
}

/** Sums over the books of several nights. */
export interface BooksSum {
  readonly rooms: number;
  readonly basedRooms: number;
  /** The occupancy base of the nights that have one; null if none has. */
  readonly base: number | null;
  readonly unmappedRooms: number;
  /** The main currency first: the one with the most rooms among those with revenue. */
  readonly amounts: readonly CurrencySum[];
}

/** Net pickup of some business days up to the current one. */
export interface PickupSum {
  readonly rooms: number;
  readonly amounts: readonly { readonly currency: string | null; readonly revenue: string }[];
}

interface YearFigures {
  readonly books: BooksSum;
  readonly pickup: Readonly<Record<keyof typeof PICKUP_DAYS, PickupSum>>;
}

/** Figures of a range of nights. */
export interface RangeFigures extends YearFigures {
  /** The same weekdays 364 days earlier, as known then; null unless all of them were. */
  readonly lastYear: YearFigures | null;
  /** Nights on which inventory and reservations differ, and the total difference in rooms. */
  readonly variance: { readonly nights: number; readonly rooms: number };
}

/** The stored figures of a property. */
export interface PropertyFigures {
  readonly asOf: string;
  /** The property's business day, which is the first night. */
  readonly day: string;
  readonly timeZone: string;
  /** The instants after which pickup counts. */
  readonly since: Readonly<Record<keyof typeof PICKUP_DAYS, string>>;
  /** The instant that last year's figures are as of, and their first known night. */
  readonly lastYearAsOf: string;
  readonly lastYearKnownFrom: string | null;
  readonly ranges: Readonly<Record<PortfolioNights, RangeFigures>>;
  /** Rooms on the books by night, and as known last year; null if no night was, or that night was not. */
  readonly nights: readonly number[];
  readonly nightsLastYear: readonly (number | null)[] | null;
}

function sumOf(items: readonly BookedNight[], from: string, count: number): BooksSum {
  const end = addDays(from, count);
  const amounts = new Map<string | null, { -readonly [Name in keyof CurrencySum]: CurrencySum[Name] }>();
  const bases = new Map<string, number>();
  const sum = { rooms: 0, basedRooms: 0, unmappedRooms: 0 };
  for (const item of items) {
    const { stayDate, rooms, roomRevenue, currency, base, unmappedRooms } = item;
    if (stayDate >= end) continue;
    if (base !== null) bases.set(stayDate, base);
    sum.rooms += rooms;
    sum.unmappedRooms += unmappedRooms;
    if (base !== null) sum.basedRooms += rooms;
    // Blocks and unmapped rooms have no price or currency.
    if (rooms === 0 && roomRevenue === null && !hasWithoutNight(item)) continue;
    const amount = amounts.get(currency) ?? { currency, ...NO_AMOUNT };
    amount.rooms += rooms;
    addWithoutNight(amount, item);
    amount.revenue = plus(amount.revenue, roomRevenue);
    if (base !== null) amount.basedRevenue = plus(amount.basedRevenue, roomRevenue);
    amounts.set(currency, amount);
  }
  const base = bases.size === 0 ? null : [...bases.values()].reduce((all, one) => all + one, 0);
  return { ...sum, base, amounts: [...amounts.values()].sort(compareAmounts) };
}

function compareAmounts(one: CurrencySum, other: CurrencySum): number {
  return (
    Number(one.revenue === null) - Number(other.revenue === null) ||
    other.rooms - one.rooms ||
    compareCodes(one.currency, other.currency)
  );
}

function pickupOf(now: BooksSum, before: BooksSum): PickupSum {
  const amounts = new Map<string | null, string>();
  for (const { currency, revenue } of now.amounts) amounts.set(currency, revenue ?? "0");
  for (const { currency, revenue } of before.amounts)
    amounts.set(currency, plus(amounts.get(currency) ?? "0", minus(revenue ?? "0")) ?? "0");
  return {
    rooms: now.rooms - before.rooms,
    amounts: [...amounts].map(([currency, revenue]) => ({ currency, revenue })),
  };
}

type BookedNight = OnTheBooksItem & { readonly base: number | null };

/** The books of nights from `from`, as of now (null) or an instant, and as of the instants that pickup is compared with. */
interface YearBooks {
  readonly from: string;
  readonly now: readonly BookedNight[];
  readonly day: readonly BookedNight[];
  readonly week: readonly BookedNight[];
}

const PAGE_ITEMS = 1_000;

/** The items of all pages. */
async function readAll<Item>(
  pageOf: (start: Position | null) => Promise<InsightPage<Item>>,
): Promise<Item[]> {
  const items: Item[] = [];
  let start: Position | null = null;
  do {
    const page: InsightPage<Item> = await pageOf(start);
    items.push(...page.items);
    start = page.next;
  } while (start !== null);
  return items;
}

async function readYear(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  since: PropertyFigures["since"],
): Promise<YearBooks> {
  const read = async (asOf: string | null, hasStock: boolean) => {
    const asked = { client, question: { ...question, asOf }, queryContext, limit: PAGE_ITEMS };
    const currencies = new Set<string | null>();
    const items = await readAll(async (start) => {
      const page = await pageOfBooks({ ...asked, start }, hasStock);
      for (const { item } of page.items) currencies.add(item.currency);
      if (currencies.size > KEPT_CURRENCIES_MAX)
        throw new OperatorError(`Its reservations have more than ${KEPT_CURRENCIES_MAX} currencies.`);
      return page;
    });
    return items.map(({ item, base }) => ({ ...item, base }));
  };
  return {
    from: question.from,
    now: await read(question.asOf, true),
    day: await read(since.day, false),
    week: await read(since.week, false),
  };
}

/** Where the pickups up to a business day begin. */
const sincesOf = (day: string, settings: PropertySettings): PropertyFigures["since"] => ({
  day: sinceOf(day, PICKUP_DAYS.day, settings),
  week: sinceOf(day, PICKUP_DAYS.week, settings),
});

function figuresOf({ from, now, day, week }: YearBooks, count: number): YearFigures {
  const books = sumOf(now, from, count);
  const since = (before: readonly BookedNight[]) => pickupOf(books, sumOf(before, from, count));
  return { books, pickup: { day: since(day), week: since(week) } };
}

function nightsOf({ from, now }: YearBooks): number[] {
  const rooms = new Map<string, number>();
  for (const item of now) rooms.set(item.stayDate, (rooms.get(item.stayDate) ?? 0) + item.rooms);
  return datesFrom(from, NIGHTS_MAX).map((night) => rooms.get(night) ?? 0);
}

/** The kept report; null for a property whose nights are more than one answer may read. */
async function readReportOrNull(
  asked: Pick<Asked, "client" | "question" | "queryContext">,
  context: ComparisonContext,
): Promise<KeptReport | null> {
  try {
    return await readKeptReport(asked, context);
  } catch (error) {
    if (!(error instanceof QuestionTooLarge)) throw error;
    return null;
  }
}

/** Computes a property's figures from one snapshot. */
async function computeFigures(
  pool: pg.Pool,
  { clientCode, propertyCode, propertyId, bucket }: Property & PropertyCodes,
  now: Date,
): Promise<{
  readonly figures: PropertyFigures;
  readonly report: KeptReport | null;
  readonly dayEndsAt: Date;
}> {
  const settings = await settingsOf(pool, clientCode, propertyCode);
  const from = businessDayOf(now, settings);
  const to = addDays(from, NIGHTS_MAX - 1);
  const codes = { clientCode, propertyCode, property: { propertyId, bucket } };
  const question: StayQuestion = { ...codes, from, to, by: "none", clock: "source", asOf: null };
  const { answer } = await onQueryContext(pool, question, async (client, queryContext) => {
    const ofNow = { client, question, queryContext: { ...queryContext, now } };
    const context = await comparisonOf(client, question, ofNow.queryContext, "all");
    const { known, lastYearAsOf: asOf } = context;
    const since = sincesOf(from, settings);
    const thisYear = await readYear(client, question, queryContext, since);
    const then = { from: lastYearOf(from), to: lastYearOf(to), asOf };
    const dayThen = businessDayOf(new Date(asOf), settings);
    const lastYear = await readYear(
      ...([client, { ...question, ...then }, queryContext, sincesOf(dayThen, settings)] as const),
    );
    const isKnown = (night: string) => isKnownAt(known, night, asOf);
    const asked = { client, question, queryContext, limit: PAGE_ITEMS };
    const reconciled = await readAll((start) => pageOfReconciliation({ ...asked, start }));
    const range = (count: PortfolioNights): RangeFigures => {
      const [one, other] = [figuresOf(thisYear, count), figuresOf(lastYear, count)];
      const end = addDays(from, count);
      const differing = reconciled.flatMap(({ stayDate, difference }) =>
        stayDate < end && difference ? [Math.abs(difference)] : [],
      );
      return {
        ...one,
        lastYear: isKnown(then.from) ? other : null,
        variance: { nights: differing.length, rooms: differing.reduce((sum, rooms) => sum + rooms, 0) },
      };
    };
    const ranges = { 1: range(1), 7: range(7), 30: range(30), 90: range(90) };
    const nightsLastYear = isKnown(then.to)
      ? nightsOf(lastYear).map((rooms, at) => (isKnown(addDays(then.from, at)) ? rooms : null))
      : null;
    const figures: PropertyFigures = {
      asOf: now.toISOString(),
      day: from,
      timeZone: settings.timeZone,
      since,
      lastYearAsOf: asOf,
      lastYearKnownFrom: known.night,
      ranges,
      nights: nightsOf(thisYear),
      nightsLastYear,
    };
    return { figures, report: await readReportOrNull(ofNow, context) };
  });
  return { ...answer, dayEndsAt: endOfBusinessDay(from, settings) };
}

/** Every property, what its stored figures are based on, and whether they are due by age. */
const readStoredFigures = namedStatement(
  "read-kept-figures",
  `select property.property_id as "propertyId", property.bucket, property.client_code as "clientCode",
    property.property_code as "propertyCode", coalesce(settings.version, 0) as version, kept.basis,
    kept.due_at is null or kept.due_at <= clock_timestamp() as "isDue"
  from bellhop.property as property
  left join bellhop.settings_version as settings using (client_code)
  left join bellhop.property_figures as kept using (property_id)
  where ($1::integer is null or property.property_id = $1)
  order by kept.computed_at nulls first`,
);
const writeFigures = namedStatement(
  "write-property-figures",
  `insert into bellhop.property_figures as kept (bucket, property_id, computed_at, due_at, basis, figures, report)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (property_id) do update
  set computed_at = excluded.computed_at, due_at = excluded.due_at, basis = excluded.basis,
    figures = excluded.figures, report = excluded.report
  where kept.computed_at < excluded.computed_at`,
);

/** The last decision since $1 on a quarantined record of each property. Plan: an index scan of quarantine_resolved_by. */
const readDecisions = namedStatement(
  "read-newest-decisions",
  `select property_id as "propertyId", max(resolved_by::text) as "requestId"
  from bellhop.quarantine where resolved_by >= $1 group by property_id`,
);

interface StoredFiguresRow extends Property, PropertyCodes {
  readonly version: number;
  readonly basis: string | null;
  readonly isDue: boolean;
}

/** Maximum age: figures since yesterday and of last year change with time alone. */
const HOUR_MS = 3_600_000;
/** Interval between checks for changes. */
const CHECK_MS = 60_000;
/** Idle time after each property, as a multiple of the time it took. */
const RESTS = 4;
/** A pass that has taken this long ends, and the next one finds what changed meanwhile. */
const PASS_MS = 600_000;

/** Properties whose figures are out of date, with the state to compute them from; only `propertyId` if given. */
async function findStale(
  pool: pg.Pool,
  propertyId: number | null = null,
): Promise<(StoredFiguresRow & { readonly newBasis: string })[]> {
  const { rows } = await pool.query<StoredFiguresRow>({ ...readStoredFigures, values: [propertyId] });
  const newest = await newestArrivals(pool, rows);
  // Older figures are due by age.
  const since = lowestIdAt(Date.now() - 2 * HOUR_MS);
  const decisions = await pool.query<{ propertyId: number; requestId: string }>({
    ...readDecisions,
    values: [since],
  });
  const decided = new Map(decisions.rows.map((row) => [row.propertyId, row.requestId]));
  return rows.flatMap((row) => {
    const arrivals = newest.get(row.propertyId);
    const newBasis = [
      row.version,
      ...[...(arrivals?.values() ?? [])].sort(),
      decided.get(row.propertyId),
    ].join(" ");
    return row.isDue || row.basis !== newBasis ? [{ ...row, newBasis }] : [];
  });
}

/** A property whose figures could not be computed; retried after `forMs`. */
interface Postponed {
  readonly untilMs: number;
  readonly forMs: number;
}

interface RefreshOptions {
  /**
   * Called with the error if a property's figures could not be computed; by default the error is thrown and no other property is computed.
   */
  readonly failed?: (error: unknown, property: PropertyCodes) => void;
  /** By property id. */
  readonly postponed?: Map<number, Postponed>;
  /** If given, pauses after each property. */
  readonly signal?: AbortSignal;
}

async function refreshProperty(pool: pg.Pool, stale: Awaited<ReturnType<typeof findStale>>[number]) {
  const now = new Date();
  const { figures, report, dayEndsAt } = await computeFigures(pool, stale, now);
  // Last year's figures are as of the start of the hour.
  const hourEndsMs = (Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS;
  const dueAt = new Date(Math.min(dayEndsAt.getTime(), hourEndsMs));
  const texts = [JSON.stringify(figures), report === null ? null : JSON.stringify(report)];
  const values = [stale.bucket, stale.propertyId, now, dueAt, stale.newBasis, ...texts];
  await pool.query({ ...writeFigures, values });
}

/** Client codes take turns: the many or slow properties of one must not hold up those of others. */
function inTurns<Of extends PropertyCodes>(properties: readonly Of[]): readonly Of[] {
  const counts = new Map<string, number>();
  const placed = properties.map((property) => {
    const place = counts.get(property.clientCode) ?? 0;
    counts.set(property.clientCode, place + 1);
    return { property, place };
  });
  return placed.sort((one, other) => one.place - other.place).map(({ property }) => property);
}

/** Computes outdated figures one property after another. Several nodes may do so concurrently. */
export async function refreshFigures(
  pool: pg.Pool,
  { failed = rethrow, postponed = new Map(), signal }: RefreshOptions = {},
): Promise<void> {
  const passBegunAt = performance.now();
  for (const { propertyId } of inTurns(await findStale(pool))) {
    if (signal?.aborted === true) return;
    const begunAt = performance.now();
    if (signal !== undefined && begunAt - passBegunAt > PASS_MS) return;
    const before = postponed.get(propertyId);
    if (before !== undefined && before.untilMs > begunAt) continue;
    // Another node may have computed them meanwhile.
    const [stale] = await findStale(pool, propertyId);
    if (stale === undefined) continue;
    try {
      await refreshProperty(pool, stale);
      postponed.delete(propertyId);
    } catch (error) {
      if (signal?.aborted) return;
      const forMs = before === undefined ? CHECK_MS : Math.min(2 * before.forMs, HOUR_MS);
      postponed.set(propertyId, { untilMs: performance.now() + forMs, forMs });
      failed(error, { clientCode: stale.clientCode, propertyCode: stale.propertyCode });
    }
    if (signal === undefined) continue;
    await delay(RESTS * (performance.now() - begunAt), undefined, { signal }).catch(() => undefined);
  }
}

function rethrow(error: unknown): never {
  throw error;
}

/** Keeps the figures of every property up to date; reports failures to `failed` and retries with increasing delays. */
export function keepFiguresFresh(
  pool: pg.Pool,
  failed: (error: unknown, property?: PropertyCodes) => void,
): { stop(): Promise<void> } {
  const ending = new AbortController();
  const options = { failed, postponed: new Map<number, Postponed>(), signal: ending.signal };
  const repeat = new Repeat(() => refreshFigures(pool, options), CHECK_MS, failed, 0);
  return {
    stop: () => {
      ending.abort();
      return repeat.stop();
    },
  };
}
