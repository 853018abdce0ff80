import { daysBetween } from "#contract/dates.ts";
import { type NightRange, type Nights, nightsOf } from "#contract/night-ranges.ts";
import type { Grants } from "../identity/grants.ts";
import { isWithinKeys, keysOf, type Scope } from "../identity/scope.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { Property, PropertyCodes } from "../query/property.ts";
import { businessDayOf } from "../settings/business-day.ts";
import { type PropertySettings, settingsOfClients } from "../settings/property-settings.ts";
import { PICKUPS } from "./compared-books.ts";
import { matcherOf } from "./console/search.ts";
import type { ReportItem } from "./daily-report.ts";
import { type KeptReport, knowsLastYear } from "./kept-report.ts";
import type { Sum } from "./periods.ts";
import { itemOfSum, PeriodSums } from "./sum-reports.ts";

/** Hotels of one report. */
export const HOTELS_MAX = 5_000;
/** Hotels that a search or a city is compared with. */
const HOTELS_READ_MAX = 100_000;
/** Hotels whose kept reports are read by one statement: a report has 16 kB, with all currencies that it may have two megabytes. */
const REPORTS_AT_ONCE = 50;
/** Items of one report, and sums that are kept until its end. Most hotels have one currency. */
const ROWS_MAX = 20_000;

const listProperties = namedStatement(
  "list-properties-of-report",
  `select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode"
  from bellhop.property
  where ${isWithinKeys("$1")} and ${isWithinKeys("$3")}
  order by client_code, property_code
  limit $2`,
);

const readReports = namedStatement(
  "read-kept-reports",
  `select property_id as "propertyId", report from bellhop.property_figures where property_id = any ($1::integer[])`,
);

/** What the rows of the report are: nights, periods, or hotels. */
export type RowsBy = Sum | "none" | "property";

/** A daily report of several hotels. */
export interface PortfolioReportQuestion {
  /** The properties that may be read. */
  readonly within: Pick<Scope, "keys">;
  /** Only these of them. */
  readonly hotels?: Grants | undefined;
  /** Only those whose codes, name or city have all these words. */
  readonly search?: string | undefined;
  readonly city?: string | undefined;
  /** By default the 30 nights from the earliest business day of the hotels. */
  readonly nights?: Nights | NightRange | undefined;
  readonly sum?: RowsBy | undefined;
  /** Leaves out, and names, hotels whose last year is not known for all the nights. */
  readonly isComparable?: boolean | undefined;
}

/** Why a hotel is not in the report: no figures yet, figures without all of the nights, or no last year. */
export type MissingReason = "noFigures" | "nights" | "lastYear";

interface Named extends PropertyCodes {
  readonly name: string | null;
}

export interface PortfolioReportItem extends ReportItem, Partial<Named> {
  /** Hotels that have the row. */
  readonly properties: number;
}

export interface PortfolioReport extends Nights {
  readonly items: readonly PortfolioReportItem[];
  readonly totals: readonly PortfolioReportItem[];
  /** Hotels that are added up. */
  readonly properties: number;
  readonly missing: readonly (Named & { readonly reason: MissingReason; readonly asOf: string | null })[];
  /** Hotels that are added up and do not know some of the figures: the sums of these are null. */
  readonly unknown: readonly (Named & { readonly figures: readonly string[] })[];
  /** The oldest and the newest instant of the hotels' figures. */
  readonly oldestAsOf: string | null;
  readonly newestAsOf: string | null;
  /** The earliest and the latest business day of the hotels now. */
  readonly businessDay: string;
  readonly lastBusinessDay: string;
}

interface Hotel extends Property, PropertyCodes {
  readonly settings: PropertySettings;
}

const tooLarge = (message: string) => new ServiceError("bellhop.insight.TooLarge", { message });

/** Throws ServiceError `bellhop.insight.TooLarge`. */
async function findHotels(
  on: Queryable,
  { within, hotels, search, city }: PortfolioReportQuestion,
): Promise<readonly Hotel[]> {
  const { rows } = await on.query<Property & PropertyCodes>({
    ...listProperties,
    values: [within.keys, HOTELS_READ_MAX + 1, hotels === undefined ? null : keysOf(hotels)],
  });
  const settings = await settingsOfClients(on, [...new Set(rows.map(({ clientCode }) => clientCode))]);
  const matches = search === undefined ? () => true : matcherOf(search);
  const found: Hotel[] = [];
  for await (const some of new WorkPauses().inParts(rows))
    for (const row of some) {
      const own = settings.get(row.clientCode)?.of(row.propertyCode);
      if (own === undefined || (city !== undefined && city !== own.city)) continue;
      if (matches({ ...row, name: own.name, city: own.city })) found.push({ ...row, settings: own });
    }
  if (found.length > HOTELS_MAX || rows.length > HOTELS_READ_MAX)
    throw tooLarge(`A report has at most ${HOTELS_MAX} hotels: send hotels, search or city.`);
  return found;
}

/** The business days of hotels at an instant, earliest first. */
function businessDays(hotels: readonly Hotel[], now: Date): readonly string[] {
  const days = new Map(
    hotels.map(({ settings: { timeZone, businessDayEnd } }) => [
      `${timeZone} ${businessDayEnd}`,
      { timeZone, businessDayEnd },
    ]),
  );
  const found = [...days.values()].map((businessDay) => businessDayOf(now, businessDay));
  return found.length === 0 ? [now.toISOString().slice(0, 10)] : found.sort();
}

const RANGE_STANDARD = "next30";

function nightsFor(asked: PortfolioReportQuestion["nights"], today: string): Nights {
  return typeof asked === "object" ? asked : nightsOf(asked ?? RANGE_STANDARD, today);
}

/** Why a hotel's figures cannot be added up; undefined if they can. */
function reasonOf(
  report: KeptReport | null | undefined,
  { from, to }: Nights,
  isComparable: boolean,
): MissingReason | undefined {
  if (report === null || report === undefined) return "noFigures";
  if (report.from > from || report.to < to) return "nights";
  return isComparable && !knowsLastYear(report, from) ? "lastYear" : undefined;
}

/** The figures that a hotel with any in these nights does not know. */
function unknownOf(report: KeptReport, { from, to }: Nights): string[] {
  const [first, last] = [from, to].map((date) => daysBetween(report.from, date)) as [number, number];
  if (!report.nights.some((night) => night >= first && night <= last)) return [];
  return [
    ...(knowsLastYear(report, from) ? [] : ["lastYear"]),
    ...PICKUPS.flatMap((days, at) => (report.pickups[at] === true ? [] : [`pickup${days}`])),
  ];
}

const namedOf = ({ clientCode, propertyCode, settings: { name } }: Hotel): Named => ({
  clientCode,
  propertyCode,
  name,
});

interface Included {
  readonly hotel: Hotel;
  readonly report: KeptReport;
}

/** The rows of a report: of all hotels, or one for each hotel and currency. What one of a currency's hotels does not know, its sums do not. */
class Rows {
  readonly #isByHotel: boolean;
  readonly #sum: Sum | undefined;
  readonly #sums: PeriodSums<Hotel | null>;

  constructor(rows: RowsBy, nights: Nights) {
    this.#isByHotel = rows === "property";
    this.#sum = rows === "property" ? "total" : rows === "none" ? undefined : rows;
    this.#sums = new PeriodSums({ ...nights, sum: this.#sum });
  }

  /** Throws ServiceError `bellhop.insight.TooLarge`. */
  add({ hotel, report }: Included): void {
    this.#sums.add(report, this.#isByHotel ? hotel : null);
    if (this.#sums.rowCount > ROWS_MAX)
      throw tooLarge(
        `A report has at most ${ROWS_MAX} items: send hotels, search or city, fewer nights, or another sum.`,
      );
  }

  async items(pauses: WorkPauses): Promise<PortfolioReportItem[]> {
    const items: PortfolioReportItem[] = [];
    for (const sum of this.#sums.sums()) {
      if (pauses.isDue) await pauses.pause();
      const { group: hotel, reports: properties } = sum;
      const named = hotel === null ? {} : namedOf(hotel);
      items.push({ ...named, ...itemOfSum(sum, this.#sum !== undefined), properties });
    }
    return items;
  }
}

/** The kept report of each hotel, some at a time: all of them may be gigabytes. */
async function* readKept(
  on: Queryable,
  hotels: readonly Hotel[],
): AsyncGenerator<{ readonly hotel: Hotel; readonly report: KeptReport | null }, void> {
  for (let from = 0; from < hotels.length; from += REPORTS_AT_ONCE) {
    const some = hotels.slice(from, from + REPORTS_AT_ONCE);
    const { rows } = await on.query<{ propertyId: number; report: KeptReport | null }>({
      ...readReports,
      values: [some.map(({ propertyId }) => propertyId)],
    });
    const reports = new Map(rows.map(({ propertyId, report }) => [propertyId, report]));
    for (const hotel of some) yield { hotel, report: reports.get(hotel.propertyId) ?? null };
  }
}

/**
 * The daily report of several hotels, added up from the figures that are kept of each (`refreshFigures`), with the definitions of the
 * report of one. Hotels whose figures are missing are named and not added up.
 */
export async function buildPortfolioReport(
  on: Queryable,
  question: PortfolioReportQuestion,
): Promise<PortfolioReport> {
  const { sum = "none", isComparable = false } = question;
  const hotels = await findHotels(on, question);
  const days = businessDays(hotels, new Date());
  const [businessDay = "", lastBusinessDay = ""] = [days[0], days.at(-1)];
  const nights = nightsFor(question.nights, businessDay);
  const [rows, totals] = [new Rows(sum, nights), new Rows("total", nights)];
  const missing: PortfolioReport["missing"][number][] = [];
  const unknown: PortfolioReport["unknown"][number][] = [];
  const instants: string[] = [];
  const pauses = new WorkPauses();
  for await (const { hotel, report } of readKept(on, hotels)) {
    if (pauses.isDue) await pauses.pause();
    const reason = reasonOf(report, nights, isComparable);
    if (report === null || reason !== undefined) {
      missing.push({ ...namedOf(hotel), reason: reason ?? "noFigures", asOf: report?.asOf ?? null });
      continue;
    }
    for (const some of [rows, totals]) some.add({ hotel, report });
    const figures = unknownOf(report, nights);
    if (figures.length > 0) unknown.push({ ...namedOf(hotel), figures });
    instants.push(report.asOf);
  }
  instants.sort();
  return {
    ...nights,
    items: await rows.items(pauses),
    totals: await totals.items(pauses),
    properties: instants.length,
    missing,
    unknown,
    oldestAsOf: instants[0] ?? null,
    newestAsOf: instants.at(-1) ?? null,
    businessDay,
    lastBusinessDay,
  };
}
