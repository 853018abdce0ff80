import type pg from "pg";
import { digitsOf } from "#contract/currencies.ts";
import { isWithinKeys, type Scope } from "../../identity/scope.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { WorkPauses } from "../../platform/runtime/work-pauses.ts";
import type { Property, PropertyCodes } from "../../query/property.ts";
import { amountIn, plus, withDigits } from "../exact-amount.ts";
import { OCCUPANCY_DIGITS, ratio } from "../occupancy.ts";
import { compareCodes } from "../paging.ts";
import {
  addWithoutNight,
  type BooksSum,
  type CurrencySum,
  hasWithoutNight,
  NO_AMOUNT,
  type PickupSum,
  type PortfolioNights,
  type PropertyFigures,
  type RangeFigures,
} from "../property-figures.ts";
import type {
  Attention,
  FeedGlance,
  PortfolioAmounts,
  PortfolioAnswer,
  PortfolioFigures,
  PortfolioItem,
  PortfolioSort,
  PortfolioTotal,
} from "./answers.ts";
import { readFeedGlances } from "./feed-glance.ts";
import { countQuarantined } from "./properties.ts";
import { matcherOf } from "./search.ts";

/** Maximum properties of a portfolio: some megabytes of rows, sorted on this thread. */
const PROPERTIES_MAX = 5_000;

/**
 * The first $3 properties within $1 (`Scope.keys`) and of the client codes $4 (null: all) by code, with their stored figures for $2 nights.
 * Plan: an index scan of the unique key.
 */
const readPortfolio = namedStatement(
  "read-portfolio",
  `select property.property_id as "propertyId", property.bucket, client_code as "clientCode", property_code as "propertyCode",
    figures ->> 'asOf' as "asOf", figures ->> 'day' as day, figures -> 'ranges' -> $2 as range,
    figures -> 'nights' as nights, figures -> 'nightsLastYear' as "nightsLastYear", figures ->> 'timeZone' as "timeZone",
    figures -> 'since' as since, figures ->> 'lastYearAsOf' as "lastYearAsOf",
    figures ->> 'lastYearKnownFrom' as "lastYearKnownFrom"
  from bellhop.property as property
  left join bellhop.property_figures using (property_id)
  where ${isWithinKeys("$1")} and ($4::text[] is null or client_code = any ($4))
  order by client_code, property_code
  limit $3`,
);

interface PortfolioRow extends Property, PropertyCodes {
  /** Null, like the following fields, if not computed yet. */
  readonly asOf: string | null;
  readonly day: string | null;
  readonly range: RangeFigures | null;
  readonly nights: PropertyFigures["nights"] | null;
  readonly nightsLastYear: PropertyFigures["nightsLastYear"];
  readonly timeZone: string | null;
  readonly since: PropertyFigures["since"] | null;
  readonly lastYearAsOf: string | null;
  readonly lastYearKnownFrom: string | null;
}

export interface PortfolioQuestion {
  readonly within: Scope;
  /** Omitted: all. */
  readonly clientCodes?: readonly string[];
  readonly nights: PortfolioNights;
  readonly search: string | undefined;
  readonly city: string | undefined;
  readonly attention: Attention | "any" | undefined;
  readonly sort: PortfolioSort;
  readonly isDescending: boolean;
}

function amountsOf({ amounts, base }: BooksSum): PortfolioAmounts[] {
  return amounts.map(({ currency, rooms, revenue, basedRevenue, ...without }) => ({
    currency,
    roomRevenue: amountIn(currency, revenue),
    adr: ratio(revenue, rooms, digitsOf(currency)),
    revpar: ratio(basedRevenue, base, digitsOf(currency)),
    dayUseRevenue: amountIn(currency, without.dayUseRevenue),
    feeRevenue: amountIn(currency, without.feeRevenue),
    outsideStayRevenue: amountIn(currency, without.outsideStayRevenue),
  }));
}

const pickupOf = ({ rooms, amounts }: PickupSum) => ({
  rooms,
  amounts: amounts.map(({ currency, revenue }) => ({
    currency,
    roomRevenue: withDigits(revenue, digitsOf(currency)),
  })),
});

/** A property with nothing booked is in the total of its own currency, with what could be sold. */
const withCurrency = (books: BooksSum, currency: string | null): BooksSum =>
  books.amounts.length > 0 ? books : { ...books, amounts: [{ ...NO_AMOUNT, currency, basedRevenue: "0" }] };

type YearFigures = Pick<RangeFigures, "books" | "pickup">;

function figuresOf({ books, pickup }: YearFigures): PortfolioFigures {
  return {
    rooms: books.rooms,
    occupancy: ratio(String(books.basedRooms), books.base, OCCUPANCY_DIGITS),
    amounts: amountsOf(books),
    pickup: { day: pickupOf(pickup.day), week: pickupOf(pickup.week) },
  };
}

function attentionOf(
  range: RangeFigures | null,
  feeds: readonly FeedGlance[],
  quarantined: number,
): Attention[] {
  const needs = {
    silent: feeds.some(({ state }) => state === "silent"),
    quarantine: quarantined > 0,
    variance: (range?.variance.nights ?? 0) > 0,
    unmapped: (range?.books.unmappedRooms ?? 0) !== 0,
  };
  return (Object.keys(needs) as Attention[]).filter((need) => needs[need]);
}

/** A property with the figures that totals are summed from. */
interface Found {
  readonly item: PortfolioItem;
  readonly range: RangeFigures | null;
}

/** Sums of one currency: revenue of all entries, rooms and capacity of those with `isMain`. */
function sumOf(
  years: readonly { readonly year: YearFigures; readonly isMain: boolean }[],
  currency: string | null,
  hasBase = true,
): PortfolioFigures {
  const books = { rooms: 0, basedRooms: 0, base: 0 };
  const amount: { -readonly [Name in keyof CurrencySum]: CurrencySum[Name] } = { currency, ...NO_AMOUNT };
  const pickup = { day: { rooms: 0, revenue: "0" }, week: { rooms: 0, revenue: "0" } };
  for (const { year, isMain } of years) {
    if (isMain) {
      books.rooms += year.books.rooms;
      books.basedRooms += year.books.basedRooms;
      books.base += year.books.base ?? 0;
    }
    for (const one of year.books.amounts) {
      if (one.currency !== currency) continue;
      amount.rooms += one.rooms;
      amount.revenue = plus(amount.revenue, one.revenue);
      addWithoutNight(amount, one);
      // RevPAR's revenue is that of the properties whose capacity it is divided by.
      if (isMain) amount.basedRevenue = plus(amount.basedRevenue, one.basedRevenue);
    }
    for (const since of ["day", "week"] as const) {
      if (isMain) pickup[since].rooms += year.pickup[since].rooms;
      for (const one of year.pickup[since].amounts)
        if (one.currency === currency)
          pickup[since].revenue = plus(pickup[since].revenue, one.revenue) ?? "0";
    }
  }
  const since = ({ rooms, revenue }: (typeof pickup)["day"]) => ({
    rooms,
    amounts: [{ currency, revenue }],
  });
  return figuresOf({
    books: {
      ...books,
      base: hasBase && books.base !== 0 ? books.base : null,
      unmappedRooms: 0,
      amounts: [amount],
    },
    pickup: { day: since(pickup.day), week: since(pickup.week) },
  });
}

/** Currencies with a total: those of the most properties. */
const TOTALS_MAX = 200;

/** A total per currency of the properties that sell in it. Last year's includes only properties for which it is known. */
async function totalsOf(found: readonly Found[], pauses: WorkPauses): Promise<PortfolioTotal[]> {
  const byCurrency = new Map<string | null, { readonly year: RangeFigures; readonly isMain: boolean }[]>();
  for await (const some of pauses.inParts(found))
    for (const { range: year } of some)
      for (const [at, { currency }] of soldOf(year).entries()) {
        const those = byCurrency.get(currency);
        const one = { year: year as RangeFigures, isMain: at === 0 };
        if (those === undefined) byCurrency.set(currency, [one]);
        else those.push(one);
      }
  const inOrder = await pauses.sorted(
    [...byCurrency],
    ([currency, those], [other, others]) => others.length - those.length || compareCodes(currency, other),
  );
  const totals: PortfolioTotal[] = [];
  for (const [currency, those] of inOrder.slice(0, TOTALS_MAX)) {
    if (pauses.isDue) await pauses.pause();
    const known = those.flatMap(({ year: { lastYear }, isMain }) =>
      lastYear === null ? [] : [{ year: lastYear, isMain }],
    );
    // A part of the capacity is no measure of all.
    const hasBase = those.every(({ year }) => year.books.base === null || year.lastYear?.books.base !== null);
    const now = sumOf(those, currency);
    if (pauses.isDue) await pauses.pause();
    totals.push({
      currency,
      properties: those.length,
      now,
      lastYear: known.length === 0 ? null : sumOf(known, currency, hasBase),
      lastYearProperties: known.length,
    });
  }
  return totals;
}

/** The currencies that a property sells in, its main one first. */
const soldOf = (year: RangeFigures | null): readonly CurrencySum[] =>
  year?.books.amounts.filter(
    (amount, at) => at === 0 || amount.revenue !== null || hasWithoutNight(amount),
  ) ?? [];

const textOf = (item: PortfolioItem) => item.name ?? item.propertyCode;
/** `localeCompare` with options would make one for each comparison. */
const compareTexts = new Intl.Collator("en", { numeric: true }).compare;

/** The sort value of each column; undefined sorts last. */
const VALUES: Readonly<Record<Exclude<PortfolioSort, "name">, (item: PortfolioItem) => unknown>> = {
  occupancy: ({ now }) => now?.occupancy,
  rooms: ({ now }) => now?.rooms,
  revenue: ({ now }) => now?.amounts[0]?.roomRevenue,
  adr: ({ now }) => now?.amounts[0]?.adr,
  revpar: ({ now }) => now?.amounts[0]?.revpar,
  pickupDay: ({ now }) => now?.pickup.day.rooms,
  pickupWeek: ({ now }) => now?.pickup.week.rooms,
  change: ({ now, lastYear }) => now && lastYear && now.rooms - lastYear.rooms,
  variance: ({ variance }) => variance?.rooms,
};
/** Columns whose amounts are compared within one currency only. */
const OF_MONEY: ReadonlySet<PortfolioSort> = new Set(["revenue", "adr", "revpar"]);

function sorted<Of extends Pick<Found, "item">>(
  found: readonly Of[],
  { sort, isDescending }: Pick<PortfolioQuestion, "sort" | "isDescending">,
): readonly Of[] {
  const sign = isDescending ? -1 : 1;
  if (sort === "name")
    return found.toSorted(
      (one, other) =>
        sign * compareTexts(textOf(one.item), textOf(other.item)) ||
        compareCodes(one.item.clientCode, other.item.clientCode),
    );
  const valued = found.map((one) => {
    const value = VALUES[sort](one.item);
    return { one, value: value == null ? null : Number(value), currency: one.item.now?.amounts[0]?.currency };
  });
  return valued
    .sort((left, right) => {
      // Missing values come last in either order.
      if (left.value === null || right.value === null)
        return (left.value === null ? 1 : 0) - (right.value === null ? 1 : 0);
      const byCurrency = OF_MONEY.has(sort) ? compareCodes(left.currency ?? null, right.currency ?? null) : 0;
      return byCurrency || sign * (left.value - right.value);
    })
    .map(({ one }) => one);
}

function wantedBy({ search, city, attention }: PortfolioQuestion): (found: Found) => boolean {
  const hasWords = search === undefined ? () => true : matcherOf(search);
  return ({ item }) =>
    hasWords(item) &&
    (city === undefined || item.city === city) &&
    (attention === undefined ||
      (attention === "any" ? item.attention.length > 0 : item.attention.includes(attention)));
}

function foundOf(
  row: PortfolioRow,
  { feeds, settings }: Partial<Awaited<ReturnType<typeof readFeedGlances>>[number]>,
  quarantined: number,
): Found {
  const inCurrency = <Year extends YearFigures>(year: Year): Year => ({
    ...year,
    books: withCurrency(year.books, settings?.currency ?? null),
  });
  const range = row.range && {
    ...inCurrency(row.range),
    lastYear: row.range.lastYear && inCurrency(row.range.lastYear),
  };
  const item = {
    clientCode: row.clientCode,
    propertyCode: row.propertyCode,
    name: settings?.name ?? null,
    city: settings?.city ?? null,
    asOf: row.asOf,
    day: row.day,
    timeZone: row.timeZone,
    pickupSince: row.since,
    lastYearAsOf: row.lastYearAsOf,
    lastYearKnownFrom: row.lastYearKnownFrom,
    feeds: feeds ?? [],
    quarantined,
    attention: attentionOf(range, feeds ?? [], quarantined),
    now: range && figuresOf(range),
    lastYear: range?.lastYear ? figuresOf(range.lastYear) : null,
    variance: range?.variance ?? null,
    rooms: row.nights,
    roomsLastYear: row.nightsLastYear,
  };
  return { item, range };
}

/** A page of the portfolio; totals include all matching properties. */
export async function answerPortfolio(
  pool: pg.Pool,
  question: PortfolioQuestion,
  start: number,
  limit: number,
): Promise<PortfolioAnswer & { readonly next: number | null }> {
  const { within, clientCodes = null, nights } = question;
  const { rows } = await pool.query<PortfolioRow>({
    ...readPortfolio,
    values: [within.keys, String(nights), PROPERTIES_MAX + 1, clientCodes],
  });
  const properties = rows.slice(0, PROPERTIES_MAX);
  const [quarantined, glances] = await Promise.all([
    countQuarantined(pool, properties),
    readFeedGlances(pool, properties),
  ]);
  const pauses = new WorkPauses();
  const all: Found[] = [];
  for (const [at, row] of properties.entries()) {
    if (pauses.isDue) await pauses.pause();
    all.push(foundOf(row, glances[at] ?? {}, quarantined.get(row.propertyId) ?? 0));
  }
  const found = all.filter(wantedBy(question));
  const page = sorted(found, question).slice(start, start + limit);
  const end = start + page.length;
  return {
    nights,
    items: page.map(({ item }) => item),
    nextCursor: null,
    next: end < found.length ? end : null,
    totals: await totalsOf(found, pauses),
    properties: found.length,
    isCut: rows.length > PROPERTIES_MAX,
    cities: [...new Set(all.flatMap(({ item }) => item.city ?? []))].sort((one, other) =>
      one.localeCompare(other),
    ),
  };
}

/** What needs attention at a property, as its item of the portfolio. */
export type WatchedItem = Pick<
  PortfolioItem,
  "clientCode" | "propertyCode" | "day" | "feeds" | "quarantined" | "attention" | "variance"
> & { readonly now: { readonly pickup: { readonly day: { readonly rooms: number } } } | null };

/** Of which properties to read which parts of an item; what is not wanted is empty or null. */
export interface WatchedScopes {
  readonly feeds: Scope;
  readonly quarantine: Scope;
  readonly figures: Scope;
}

/** The first $4 properties of the client codes $1, and those with the codes $2 and $3. Plan: an index scan of the unique key for each. */
const readPropertiesOf = namedStatement(
  "read-watched-properties",
  `(
    select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode"
    from bellhop.property where client_code = any ($1::text[]) order by client_code, property_code limit $4
  )
  union all
  select property.property_id, property.bucket, property.client_code, property.property_code
  from unnest($2::text[], $3::text[]) as single (client_code, property_code)
  join bellhop.property as property
    on property.client_code = single.client_code and property.property_code = single.property_code`,
);
/** The figures for $2 nights of the properties $1. Plan: an index scan of the primary key. */
const readFiguresOf = namedStatement(
  "read-watched-figures",
  `select property_id as "propertyId", figures ->> 'day' as day, figures -> 'ranges' -> $2 as range
  from bellhop.property_figures where property_id = any ($1::integer[])`,
);

/** What needs attention at the first 5,000 properties of client codes, and at single ones. Uses one connection. */
export async function readWatched(
  on: Queryable,
  { wholly, single }: Scope["parts"],
  { feeds, quarantine, figures }: WatchedScopes,
  nights: PortfolioNights,
): Promise<WatchedItem[]> {
  const codes = [single.map((one) => one.clientCode), single.map((one) => one.propertyCode)];
  const { rows } = await on.query<Property & PropertyCodes>({
    ...readPropertiesOf,
    values: [wholly, ...codes, PROPERTIES_MAX],
  });
  const of = (scope: Scope) =>
    rows.filter(({ clientCode, propertyCode }) => scope.permits(clientCode, propertyCode));
  const { rows: kept } = await on.query<Pick<PortfolioRow, "propertyId" | "day" | "range">>({
    ...readFiguresOf,
    values: [of(figures).map(({ propertyId }) => propertyId), String(nights)],
  });
  const figuresById = new Map(kept.map((one) => [one.propertyId, one]));
  const quarantined = await countQuarantined(on, of(quarantine));
  const glanced = of(feeds);
  const glances = await readFeedGlances(on, glanced);
  const feedsById = new Map(glanced.map(({ propertyId }, at) => [propertyId, glances[at]?.feeds]));
  return rows.map(({ propertyId, clientCode, propertyCode }) => {
    const { day, range } = figuresById.get(propertyId) ?? { day: null, range: null };
    const parts = { feeds: feedsById.get(propertyId) ?? [], quarantined: quarantined.get(propertyId) ?? 0 };
    return {
      ...{ clientCode, propertyCode, day, ...parts },
      attention: attentionOf(range, parts.feeds, parts.quarantined),
      variance: range?.variance ?? null,
      now: range && { pickup: { day: { rooms: range.pickup.day.rooms } } },
    };
  });
}
