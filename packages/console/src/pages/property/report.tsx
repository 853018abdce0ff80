import type { DailyReportAnswer, PropertyCodes } from "../../contract.ts";
import { addDays, propertyPath, writeDate, YEAR_DAYS } from "../../field/format.ts";
import { usePropertyView } from "../../parts/property-view.tsx";
import { Presets, type Range } from "../../parts/range.tsx";
import {
  type Behind,
  behindNight,
  ReportFilters,
  ReportTable,
  type Sum,
  useExcelOfReport,
  useSum,
} from "../../parts/report.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  AsOf,
  CutNotice,
  InsightPage,
  NothingOfProperty,
  ofProperty,
  PointInTimeFilters,
  useInsight,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 30;
/** 800 nights in several currencies. */
const REPORT_ROWS_MAX = 10_000;

export const ReportPage = ofProperty(function Report({ codes }) {
  const { today, isWeekend } = usePropertyView();
  const sum = useSum();
  const insight = useInsight<DailyReportAnswer>(
    "daily-report",
    codes,
    { from: today, to: addDays(today, NIGHTS_SHOWN - 1) },
    { limit: String(REPORT_ROWS_MAX), sum },
  );
  const { range } = insight;
  const { filters } = useFilters();
  return (
    <InsightPage
      codes={codes}
      title="Daily report"
      lead="Rooms on the books beside last year, with the pickup of the last business days. A figure opens what is behind it."
      insight={insight}
      filters={
        <>
          <Presets range={range} />
          <ReportFilters />
          <PointInTimeFilters />
        </>
      }
      lines={14}
      shown={useExcelOfReport(codes)}
      isDated={false}
    >
      {(answer) =>
        answer.items.length === 0 ? (
          <NothingOfProperty codes={codes} title="Nothing is known of these nights">
            No reservation or inventory covers them. Try another range, or another “as of”.
          </NothingOfProperty>
        ) : (
          <>
            <CutNotice nextCursor={answer.nextCursor} />
            <ReportTable
              items={answer.items}
              totals={answer.totals}
              behind={behindOf(codes, answer, sum, filters)}
              isWeekend={isWeekend}
            />
            <AsOf of={answer} lastYearAsOf={answer.lastYearAsOf} />
            <LastYearKnown from={answer.lastYearKnownFrom} range={range} />
          </>
        )
      }
    </InsightPage>
  );
});

function LastYearKnown({ from, range }: { from: string | null; range: Range }) {
  if (from !== null && from <= addDays(range.from, -YEAR_DAYS)) return null;
  return (
    <p className="small muted">
      {from === null
        ? "No data for last year."
        : `Last year is known from ${writeDate(from)}; a sum with an earlier night has no last year.`}
    </p>
  );
}

/** Pages that show what a figure is made of, at the page's point in time. */
function behindOf(
  codes: PropertyCodes,
  { lastYearAsOf }: DailyReportAnswer,
  sum: Sum,
  filters: URLSearchParams,
): Behind {
  const time = Object.fromEntries(
    ["asOf", "clock"].flatMap((name) => {
      const value = filters.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
  return (figure, { stayDate, dates = 1 }) => {
    const to = addDays(stayDate, dates - 1);
    if (sum === "dayOfWeek") return undefined;
    // The nights of a sum.
    if (sum !== "")
      return figure === "night"
        ? propertyPath("/property/report", codes, { ...time, from: stayDate, to })
        : undefined;
    return behindNight(codes, figure, stayDate, time, lastYearAsOf);
  };
}
