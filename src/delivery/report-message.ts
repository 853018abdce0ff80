import type pg from "pg";
import { digitsOf } from "#contract/currencies.ts";
import { addDays } from "#contract/dates.ts";
import { changeOf, type FigureName, REPORT_FIGURES, type ReportFigure } from "#contract/report-figures.ts";
import type { DailyReportItem, DailyReportPage } from "../console/api-types.ts";
import { dailyReport } from "../insight/daily-report.ts";
import { askInsight } from "../insight/insight-routes.ts";
import { RequestParameters } from "../platform/http/parameters.ts";
import { businessDayOf } from "../settings/business-day.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import { excelFile } from "./excel-file.ts";
import type { Headline, MessageContent, MessageTable } from "./message.ts";
import { subjectOf } from "./message.ts";

/** A property and the nights of its report. */
export interface ReportQuestion {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly nights: number;
}

interface ReportPage extends Pick<DailyReportPage, "totals"> {
  readonly items: readonly DailyReportItem[];
  /** There are more than ROWS_MAX. */
  readonly isCut: boolean;
}

const COUNT = new Intl.NumberFormat("en-GB");
/** Rows of a file: a year in some currencies. */
const ROWS_MAX = 2_000;
const HEADLINE_CURRENCIES_MAX = 3;
const CUT = `The file has the first ${COUNT.format(ROWS_MAX)} rows, the totals are of all: the console and the API have the others.`;
/** Rows in the message itself; the file has all. */
const NIGHTS_SHOWN_MAX = 31;
const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** Shown in whole units of its currency, as in the console's overviews; the file has all digits. */
const WHOLE: FigureName = "revenue";
/** Those in the message itself: a telephone shows the first ones. */
const SHOWN = (
  [
    "rooms",
    "pickup1",
    "pickup7",
    "occupancy",
    "lastYear",
    "change",
    "lastYearFinal",
    "revenue",
    "adr",
  ] as const
).flatMap((name) => REPORT_FIGURES.filter((figure) => figure.name === name));

const SHARE = new Intl.NumberFormat("en-GB", {
  style: "percent",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const SIGNED = new Intl.NumberFormat("en-GB", { signDisplay: "exceptZero" });
const DATE = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

export const writeDate = (date: string): string =>
  DATE.format(new Date(`${date}T00:00:00Z`)).replace(",", "");

/** Exact: the text goes to the formatter. */
function writeMoney(amount: string, digits: number): string {
  const format = new Intl.NumberFormat("en-GB", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return format.format(amount as `${number}`);
}

function write({ name, kind, of }: ReportFigure, item: DailyReportItem): string {
  const value = of(item);
  if (value === null) return "–";
  if (kind === "share") return SHARE.format(Number(value));
  if (kind === "change") return SIGNED.format(Number(value));
  return kind === "money"
    ? writeMoney(String(value), name === WHOLE ? 0 : digitsOf(item.currency))
    : COUNT.format(Number(value));
}

/** Nights of a property in one currency have no column for it. */
const hasCurrencies = (items: readonly DailyReportItem[]) =>
  new Set(items.map(({ currency }) => currency)).size > 1;

/** Of a property in many currencies, those of the most rooms; the table has all totals. */
const mainOf = (totals: ReportPage["totals"]) =>
  totals.toSorted((one, other) => other.rooms - one.rooms).slice(0, HEADLINE_CURRENCIES_MAX);

function headlinesOf({ totals, items }: ReportPage): Headline[] {
  return mainOf(totals).flatMap((total) => {
    const { currency } = total;
    const money = (amount: string | null, digits = digitsOf(currency)) =>
      amount === null ? "–" : `${currency === null ? "" : `${currency} `}${writeMoney(amount, digits)}`;
    const signed = (rooms: number | null) => (rooms === null ? "–" : SIGNED.format(rooms));
    const change = changeOf(total);
    const of = hasCurrencies(items) ? ` (${currency ?? "no currency"})` : "";
    return [
      {
        name: `Rooms on the books${of}`,
        value: COUNT.format(total.rooms),
        note: change === null ? "last year not known" : `${SIGNED.format(change)} to the same time last year`,
      },
      {
        name: `Pickup, last business day${of}`,
        value: `${signed(total.pickup1Rooms)} rooms`,
        note: `7 days: ${signed(total.pickup7Rooms)}`,
      },
      {
        name: `Occupancy${of}`,
        value: total.occupancy === null ? "–" : SHARE.format(Number(total.occupancy)),
      },
      { name: `Room revenue${of}`, value: money(total.roomRevenue, 0) },
      { name: `ADR${of}`, value: money(total.adr) },
      { name: `RevPAR${of}`, value: money(total.revpar) },
    ];
  });
}

function nightsTable({ items, totals }: ReportPage): MessageTable {
  const isSplit = hasCurrencies(items);
  const rowOf = (name: string, item: DailyReportItem) => [
    name,
    ...(isSplit ? [item.currency ?? ""] : []),
    ...SHOWN.map((figure) => write(figure, item)),
  ];
  const shown = items.slice(0, NIGHTS_SHOWN_MAX);
  const rest = items.length - shown.length;
  return {
    title: rest === 0 ? "By night" : `By night: the first ${shown.length}; the file has ${rest} more`,
    columns: [
      { head: "Night", isLine: true },
      ...(isSplit ? [{ head: "Currency" }] : []),
      ...SHOWN.map(({ head }) => ({ head, isNumber: true })),
    ],
    rows: [
      ...totals.map((item) => rowOf("Total", item)),
      ...shown.map((item) => rowOf(writeDate(item.stayDate).replace(/ \d{4}$/, ""), item)),
    ],
    totals: totals.length,
  };
}

function fileOf(
  { items, totals }: ReportPage,
  about: readonly (readonly [string, string])[],
): Promise<Buffer> {
  const rowOf = (name: string, item: DailyReportItem) => [
    name,
    item.currency,
    ...REPORT_FIGURES.map(({ of }) => of(item)),
  ];
  return excelFile({
    columns: [
      { head: "Night", kind: "date" },
      { head: "Currency", kind: "text" },
      ...REPORT_FIGURES.map(({ head, kind }) => ({ head, kind })),
    ],
    rows: [...totals.map((item) => rowOf("Total", item)), ...items.map((item) => rowOf(item.stayDate, item))],
    totals: totals.length,
    about,
  });
}

/** The report as the API answers it, of all nights at once. */
async function readReport(
  pool: pg.Pool,
  { clientCode, propertyCode }: ReportQuestion,
  from: string,
  to: string,
): Promise<ReportPage> {
  const query = new URLSearchParams({ clientCode, propertyCode, from, to, limit: String(ROWS_MAX) });
  const { values } = new RequestParameters(dailyReport.parameters, `/?${query}`);
  const { result } = await askInsight(pool, dailyReport, values, null);
  const { items, beside } = result as { items: readonly DailyReportItem[]; beside?: DailyReportPage };
  return { items, totals: beside?.totals ?? [], isCut: result.next !== null };
}

const nameOf = ({ name }: PropertySettings, { clientCode, propertyCode }: ReportQuestion) =>
  name ?? `${clientCode} / ${propertyCode}`;

/** Characters that a file name may have on every system. */
const fileName = (text: string): string => text.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);

/** `14 Mar 2026, 07:00 (Europe/Zurich)` */
function writeLocal(now: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone });
  return `${format.format(now)} (${timeZone})`;
}

/** The daily report of one property, from its current business day on. */
export async function reportMessage(
  pool: pg.Pool,
  question: ReportQuestion,
  baseUrl: string,
  now: Date,
): Promise<Omit<MessageContent, "notes">> {
  const { clientCode, propertyCode, nights } = question;
  const settings = await settingsOf(pool, clientCode, propertyCode);
  const from = businessDayOf(now, settings);
  const to = addDays(from, nights - 1);
  const report = await readReport(pool, question, from, to);
  const name = nameOf(settings, question);
  const range = `${writeDate(from)} to ${writeDate(to)}`;
  const asOf = writeLocal(now, settings.timeZone);
  const about = [
    ["Property", name],
    ["Client code", clientCode],
    ["Property code", propertyCode],
    ["Nights", range],
    ["As of", asOf],
    ...(report.isCut ? ([["Rows", CUT]] as const) : []),
  ] as const;
  const page = new URLSearchParams({ clientCode, propertyCode, from, to });
  return {
    subject: subjectOf(`${name}: pickup report of ${writeDate(from)}`),
    title: name,
    lead: [`Daily pickup report, ${range}, as of ${asOf}.`, ...(report.isCut ? [CUT] : [])],
    headlines: headlinesOf(report),
    tables:
      report.items.length === 0
        ? [
            {
              title: "Nothing is known of these nights",
              columns: [{ head: "No reservation or inventory covers them." }],
              rows: [],
            },
          ]
        : [nightsTable(report)],
    isAsOf: true,
    link: { text: "Open in Bellhop", address: `${baseUrl}/console/property/report?${page}` },
    attachments: [
      {
        name: `${fileName(`${name}-${from}-daily-report`)}.xlsx`,
        type: XLSX,
        content: await fileOf(report, about),
      },
    ],
  };
}
