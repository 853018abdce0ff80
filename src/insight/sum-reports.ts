import { datesFrom, daysBetween } from "#contract/dates.ts";
import { PICKUPS } from "./compared-books.ts";
import { itemOf, NOTHING_MOVED, type Reported, type ReportItem } from "./daily-report.ts";
import { type Addend, type Column, ExactSums, NO_ROW } from "./exact-sums.ts";
import {
  type BasedSums,
  bookedFigures,
  COMPARED_COUNTS,
  lastYearFigures,
  pickupFigures,
  type Sums,
} from "./figures-of-sums.ts";
import {
  AMOUNTS,
  COUNTS,
  type KeptReport,
  type KnownDates,
  knowsLastYear,
  STOCK,
  STOCK_THEN,
} from "./kept-report.ts";
import { compareCodes } from "./paging.ts";
import { type Dates, datesOf, type Sum, sumFieldsOf } from "./periods.ts";

/** What is added up of every item. */
const SUMMED: readonly string[] = [...COUNTS, ...COMPARED_COUNTS, ...AMOUNTS];
/** Of items whose night has a base: occupancy and RevPAR are of them. */
const BASED = {
  base: ["rooms", "roomRevenue"],
  baseThen: ["lastYearRooms", "lastYearRoomRevenue"],
} as const;
const BASES = ["base", "baseThen"] as const;
const basedName = (name: string) => `based ${name}`;
const PLACES: ReadonlyMap<string, number> = new Map(
  [...SUMMED, ...STOCK, ...STOCK_THEN, ...BASES, ...Object.values(BASED).flat().map(basedName)].map(
    (name, place) => [name, place],
  ),
);
const placeOf = (name: string): number => PLACES.get(name) ?? 0;
const placed = (names: readonly string[]) => names.map((name) => [name, placeOf(name)] as const);
const [SUMMED_PLACES, STOCK_PLACES, STOCK_THEN_PLACES] = [SUMMED, STOCK, STOCK_THEN].map(placed) as [
  ReturnType<typeof placed>,
  ReturnType<typeof placed>,
  ReturnType<typeof placed>,
];

/** What all of these know: a sum is known if each of its parts is. */
function knownOf(...all: readonly KnownDates[]): KnownDates {
  const latest = (dates: readonly (string | null)[]) =>
    dates.includes(null) ? null : (dates.toSorted().at(-1) ?? null);
  return {
    lastYearFrom: latest(all.map(({ lastYearFrom }) => lastYearFrom)),
    finalFrom: latest(all.map(({ finalFrom }) => finalFrom)),
    finalTo: all.map(({ finalTo }) => finalTo).sort()[0] ?? "",
    pickups: PICKUPS.map((_, at) => all.every(({ pickups }) => pickups[at] === true)),
  };
}

/** The nights asked for; without `sum`, each is a period of its own. */
export interface SummedNights {
  readonly from: string;
  readonly to: string;
  readonly sum: Sum | undefined;
}

/** The rows of a group of reports in one currency, by period. */
interface Series<Group> {
  readonly group: Group;
  readonly currency: string | null;
  readonly rows: (number | undefined)[];
  /** Of all its reports so far, which are not kept. */
  known: KnownDates | undefined;
}

/** A row of sums. */
interface Row {
  /** Reports that were added to it. */
  reports: number;
  /** The last of them, by number. */
  last: number;
  /** One of them has a base now and none last year: a part of the capacity is no measure of all. */
  hasPartOfLastYear: boolean;
}

/** The items of a report within the nights, and the rows that each is added to. */
interface Added {
  /** The place of the first of them in the report. */
  readonly first: number;
  readonly periods: readonly number[];
  /** Of its currency. */
  readonly own: readonly number[];
  /** What a night has once, whatever its currencies: of the first currency of the period. */
  readonly once: readonly number[];
  /** The same for the first item of each night only. */
  readonly onceANight: readonly number[];
  /** What divides: of each currency, for the first item of each night. */
  readonly bases: readonly (readonly number[])[];
}

/** A period's sums of a group of reports in one currency. */
export interface PeriodSum<Group> extends Sums {
  readonly group: Group;
  readonly dates: Dates;
  readonly known: KnownDates;
  readonly reports: number;
  readonly hasPartOfLastYear: boolean;
}

/** The sums of reports by period, currency and group. */
export class PeriodSums<Group> {
  readonly #isSummed: boolean;
  readonly #from: string;
  readonly #dates: Dates[] = [];
  /** The period of each night. */
  readonly #periods: readonly number[];
  readonly #series = new Map<Group, Map<string | null, Series<Group>>>();
  readonly #sums = new ExactSums(PLACES.size);
  readonly #rows: Row[] = [];
  #reports = 0;

  constructor({ from, to, sum }: SummedNights) {
    this.#isSummed = sum !== undefined;
    this.#from = from;
    const places = new Map<string, number>();
    this.#periods = datesFrom(from, daysBetween(from, to) + 1).map((date): number => {
      const dates: Dates =
        sum === undefined ? { first: date, last: date, every: 1 } : datesOf({ from, to }, sum, date);
      const place = places.get(dates.first) ?? this.#dates.push(dates) - 1;
      places.set(dates.first, place);
      return place;
    });
  }

  /** Of all groups, currencies and periods. */
  get rowCount(): number {
    return this.#rows.length;
  }

  add(report: KeptReport, group: Group): void {
    this.#reports += 1;
    const { columns } = report;
    const added = this.#addedOf(report, group);
    const { first, own, once, onceANight, bases } = added;
    const add = (places: typeof SUMMED_PLACES, rows: readonly number[]) => {
      for (const [name, place] of places) this.#sums.addColumn(place, columns[name], first, rows);
    };
    add(SUMMED_PLACES, own);
    add(STOCK_PLACES, this.#isSummed ? once : own);
    add(STOCK_THEN_PLACES, this.#isSummed ? onceANight : own);
    for (const base of BASES) {
      const based = own.map((row, item) => (valueIn(report[base], first + item) === null ? NO_ROW : row));
      for (const name of BASED[base])
        this.#sums.addColumn(placeOf(basedName(name)), columns[name], first, based);
      for (const rows of bases) this.#sums.addColumn(placeOf(base), report[base], first, rows);
    }
    this.#noteParts(report, added);
  }

  /** By date, then currency; of each group on its own. */
  *sums(): Generator<PeriodSum<Group>> {
    for (const byCurrency of this.#series.values()) {
      // A report may have more currencies than its nights in question.
      const series = [...byCurrency.values()]
        .filter(({ known }) => known !== undefined)
        .sort((one, other) => compareCodes(one.currency, other.currency));
      const periods = this.#dates
        .map((dates, period) => ({ dates, period }))
        .sort((one, other) => compareCodes(one.dates.first, other.dates.first));
      for (const { dates, period } of periods)
        for (const one of series) {
          const row = one.rows[period];
          if (row === undefined) continue;
          const { reports, hasPartOfLastYear } = this.#rows[row] as Row;
          yield {
            ...{ group: one.group, currency: one.currency, dates, reports, hasPartOfLastYear },
            known: one.known as KnownDates,
            count: (name) => this.#sums.count(placeOf(name), row),
            amount: (name) => this.#sums.amount(placeOf(name), row),
          };
        }
    }
  }

  #addedOf(report: KeptReport, group: Group): Added {
    const { nights } = report;
    const earliest = daysBetween(report.from, this.#from);
    const first = placeFrom(nights, earliest);
    const last = placeFrom(nights, earliest + this.#periods.length);
    const places = Array.from({ length: last - first }, (_, at) => first + at);
    const periods = places.map((item) => this.#periods[(nights[item] as number) - earliest] as number);
    const currencyAt = (item: number) => Number(valueIn(report.currency, item));
    const listed = this.#listedOf(report, places, periods);
    const series = report.currencies.map((currency) => this.#seriesOf(group, currency));
    for (const currency of new Set([...listed.values()].flat())) {
      const one = series[currency] as Series<Group>;
      one.known = one.known === undefined ? knownOf(report) : knownOf(one.known, report);
    }
    const rowOf = (period: number, currency: number) =>
      this.#rowOf(series[currency] as Series<Group>, period);
    const isHead = (at: number) => at === 0 || nights[first + at] !== nights[first + at - 1];
    const rowIn = (period: number, currency: number) =>
      listed.get(period)?.includes(currency) === true ? rowOf(period, currency) : NO_ROW;
    const once = periods.map((period) => rowOf(period, listed.get(period)?.[0] ?? 0));
    const atHeads = (rows: (at: number) => number) =>
      periods.map((_, at) => (isHead(at) ? rows(at) : NO_ROW));
    return {
      ...{ first, periods, once },
      own: places.map((item, at) => rowIn(periods[at] as number, currencyAt(item))),
      onceANight: atHeads((at) => once[at] as number),
      bases: series.map((_, currency) => atHeads((at) => rowIn(periods[at] as number, currency))),
    };
  }

  /** The currencies of each period in order, as `sumBooks` lists them: those with more than inventory, or else the first. */
  #listedOf(
    { currencies, currency, isListed }: KeptReport,
    places: readonly number[],
    periods: readonly number[],
  ): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, { readonly all: number[]; readonly listed: number[] }>();
    for (const [at, item] of places.entries()) {
      const period = periods[at] as number;
      const own = Number(valueIn(currency, item));
      const { all, listed } = found.get(period) ?? { all: [], listed: [] };
      if (!all.includes(own)) all.push(own);
      if (!listed.includes(own) && (!this.#isSummed || valueIn(isListed, item) === 1)) listed.push(own);
      found.set(period, { all, listed });
    }
    const inOrder = (some: readonly number[]) =>
      some.toSorted((one, other) => compareCodes(currencies[one] ?? null, currencies[other] ?? null));
    return new Map(
      [...found].map(([period, { all, listed }]) => [
        period,
        listed.length === 0 ? all.slice(0, 1) : listed.length === 1 ? listed : inOrder(listed),
      ]),
    );
  }

  #seriesOf(group: Group, currency: string | null): Series<Group> {
    const byCurrency = this.#series.get(group) ?? new Map<string | null, Series<Group>>();
    this.#series.set(group, byCurrency);
    const series = byCurrency.get(currency) ?? { group, currency, rows: [], known: undefined };
    byCurrency.set(currency, series);
    return series;
  }

  #rowOf({ rows }: Series<Group>, period: number): number {
    const row = rows[period];
    if (row !== undefined) return row;
    rows[period] = this.#rows.push({ reports: 0, last: 0, hasPartOfLastYear: false }) - 1;
    return rows[period];
  }

  /** Counts the report in each of its rows, and notes where it has a base now and none last year. */
  #noteParts(report: KeptReport, { first, periods, own }: Added): void {
    const bases = BASES.map(
      (base) => new Set(periods.filter((_, at) => valueIn(report[base], first + at) !== null)),
    );
    const [now, then] = bases as [Set<number>, Set<number>];
    for (const [at, place] of own.entries()) {
      const row = this.#rows[place];
      if (row === undefined || row.last === this.#reports) continue;
      row.last = this.#reports;
      row.reports += 1;
      const period = periods[at] as number;
      if (now.has(period) && !then.has(period)) row.hasPartOfLastYear = true;
    }
  }
}

/** The place of the first item from a night on. */
function placeFrom(nights: readonly number[], night: number): number {
  const place = nights.findIndex((one) => one >= night);
  return place === -1 ? nights.length : place;
}

function valueIn(column: Column, item: number): Addend {
  return (Array.isArray(column) ? column[item] : column) as Addend;
}

/** The item of a sum, with the definitions of the report of one property. */
export function itemOfSum<Group>(sum: PeriodSum<Group>, isSummed: boolean): ReportItem {
  const { dates, currency, known, hasPartOfLastYear, count, amount } = sum;
  const basedOf = (base: (typeof BASES)[number]): BasedSums => {
    const [rooms = "", revenue = ""] = BASED[base].map(basedName);
    return { rooms: count(rooms), revenue: amount(revenue), base: count(base) };
  };
  const then = basedOf("baseThen");
  const { finalFrom, finalTo } = known;
  const books = {
    ...(isSummed ? sumFieldsOf(dates) : { stayDate: dates.first }),
    currency,
    ...Object.fromEntries(STOCK.map((name) => [name, count(name)])),
    ...bookedFigures(sum, basedOf("base")),
    ...lastYearFigures(
      sum,
      hasPartOfLastYear ? { ...then, base: null } : then,
      { capacity: count("lastYearCapacity"), outOfOrder: count("lastYearOutOfOrder") },
      {
        isKnown: knowsLastYear(known, dates.first),
        isOver: finalFrom !== null && dates.first >= finalFrom && dates.last <= finalTo,
      },
    ),
    ...pickupFigures(sum, (at) => known.pickups[at] === true),
  };
  const moved = {
    ...NOTHING_MOVED,
    ...{ night: dates.first, unit: null, currency },
    arrivals: count("arrivals") ?? 0,
    departures: count("departures") ?? 0,
    stayThroughs: count("stayThroughs") ?? 0,
    cancelled: count("cancelledRooms") ?? 0,
    cancelledRevenue: amount("cancelledRoomRevenue"),
    noShows: count("noShowRooms") ?? 0,
    noShowRevenue: amount("noShowRoomRevenue"),
  };
  // Assembled by name. A test compares every field with the report of one property.
  return itemOf({ books: books as unknown as Reported["books"], moved });
}
