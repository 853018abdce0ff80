import type { DailyReportAnswer, PropertyCodes } from "../../contract.ts";
import { addDays, propertyPath, writeDate, writeGrant, YEAR_DAYS } from "../../field/format.ts";
import {
  type Beside,
  BesideTable,
  besideHotel,
  besideItems,
  besideYear,
  FiguresFilter,
  useExcelOfBeside,
  useFiguresOfHotels,
} from "../../parts/beside.tsx";
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
  type BesideChoice,
  BesideFilter,
  type ReportAnswer,
  useBesideChoice,
  useBoth,
  useNameOf,
} from "./beside.tsx";
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
  const { today } = usePropertyView();
  const sum = useSum();
  const insight = useInsight<DailyReportAnswer>(
    "daily-report",
    codes,
    { from: today, to: addDays(today, NIGHTS_SHOWN - 1) },
    { limit: String(REPORT_ROWS_MAX), sum },
  );
  const { range } = insight;
  const choice = useBesideChoice(codes);
  const other = useNameOf(choice.codes);
  const asked = useBoth(insight.asked, insight.address, choice.codes);
  const besideOf = useBeside(codes, choice, other, sum);
  const isBeside = choice.year !== undefined || choice.codes !== undefined;
  const shownAlone = useExcelOfReport(codes);
  const shownBeside = useExcelOfBeside();
  return (
    <InsightPage<ReportAnswer>
      codes={codes}
      title="Daily report"
      lead="Rooms on the books beside last year, with the pickup of the last business days. A figure opens what is behind it."
      insight={{ ...insight, asked }}
      filters={
        <>
          <Presets range={range} />
          <ReportFilters isBeside={isBeside} />
          <BesideFilter codes={codes} choice={choice} name={other} />
          {choice.codes !== undefined && <FiguresFilter />}
          <PointInTimeFilters />
        </>
      }
      lines={14}
      shown={(answer) => {
        const beside = besideOf(answer);
        return beside === undefined ? shownAlone(answer) : shownBeside(beside, sum);
      }}
      saved={isBeside ? (answer) => besideItems(besideOf(answer)) : undefined}
      about={choice.codes === undefined ? [] : [["Compared with", other]]}
      isDated={false}
    >
      {(answer) =>
        answer.items.length === 0 && !answer.other?.items.length ? (
          <NothingOfProperty codes={codes} title="Nothing is known of these nights">
            No reservation or inventory covers them. Try another range, or another “as of”.
          </NothingOfProperty>
        ) : (
          <ReportOf codes={codes} answer={answer} beside={besideOf(answer)} range={range} />
        )
      }
    </InsightPage>
  );
});

interface ReportOfProps {
  readonly codes: PropertyCodes;
  readonly answer: ReportAnswer;
  readonly beside: Beside | undefined;
  readonly range: Range;
}

function ReportOf({ codes, answer, beside, range }: ReportOfProps) {
  const { isWeekend } = usePropertyView();
  const sum = useSum();
  const { filters } = useFilters();
  const { items, totals, lastYearAsOf, lastYearKnownFrom } = answer;
  const behind = behindOf(codes, answer, sum, filters);
  return (
    <>
      <CutNotice nextCursor={answer.nextCursor ?? answer.other?.nextCursor} />
      {beside === undefined ? (
        <ReportTable items={items} totals={totals} behind={behind} isWeekend={isWeekend} />
      ) : (
        <BesideTable of={beside} sum={sum} behindRow={behind} isWeekend={isWeekend} />
      )}
      <AsOf of={answer} lastYearAsOf={lastYearAsOf} />
      {answer.other !== undefined && answer.other.businessDay !== answer.businessDay && (
        <AsOf of={answer.other} lastYearAsOf={answer.other.lastYearAsOf} />
      )}
      <LastYearKnown from={lastYearKnownFrom} range={range} />
    </>
  );
}

/** The two sides of an answer, if the address has two. */
function useBeside(codes: PropertyCodes, choice: BesideChoice, otherName: string, sum: Sum) {
  const { filters } = useFilters();
  const { name } = usePropertyView();
  const figures = useFiguresOfHotels();
  const sideOf = (of: PropertyCodes, other: PropertyCodes, answer: DailyReportAnswer, named: string) => ({
    ...answer,
    // Two client codes may have a hotel of the same code.
    name: of.propertyCode === other.propertyCode ? writeGrant(of) : of.propertyCode,
    about: named === writeGrant(of) ? undefined : named,
    behind: behindOf(of, answer, sum, filters),
  });
  return (answer: ReportAnswer): Beside | undefined => {
    if (choice.year !== undefined)
      return besideYear(answer, choice.year, behindOf(codes, answer, sum, filters));
    if (choice.codes === undefined || answer.other === undefined) return undefined;
    const own = sideOf(codes, choice.codes, answer, name ?? writeGrant(codes));
    return besideHotel(own, sideOf(choice.codes, codes, answer.other, otherName), figures);
  };
}

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
  const kept = (...names: readonly string[]) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = filters.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
  const time = kept("asOf", "clock");
  const beside = kept("beside", "figures");
  return (figure, { stayDate, dates = 1 }) => {
    const to = addDays(stayDate, dates - 1);
    if (sum === "dayOfWeek") return undefined;
    // The nights of a sum.
    if (sum !== "")
      return figure === "night"
        ? propertyPath("/property/report", codes, { ...time, ...beside, from: stayDate, to })
        : undefined;
    return behindNight(codes, figure, stayDate, time, lastYearAsOf);
  };
}
