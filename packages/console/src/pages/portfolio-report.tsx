import { KEPT_RANGES } from "../../../contract/src/night-ranges.ts";
import type { PortfolioReport, PropertyCodes } from "../contract.ts";
import { addressOf, useAnswer } from "../data/queries.ts";
import {
  addDays,
  propertyPath,
  readHotels,
  sideBySidePath,
  writeCount,
  writeGrant,
  writeMany,
} from "../field/format.ts";
import {
  type Beside,
  BesideTable,
  besideItems,
  besideYear,
  isYear,
  useExcelOfBeside,
  YEAR_OPTIONS,
} from "../parts/beside.tsx";
import { Button, LinkButton } from "../parts/button.tsx";
import { AddressFilter, AddressSelect } from "../parts/field.tsx";
import { Filters, useChip } from "../parts/filters.tsx";
import { ExportButtons } from "../parts/list.tsx";
import { Answered, Empty, Notice, Page } from "../parts/page.tsx";
import { usePropertyView } from "../parts/property-view.tsx";
import { Presets, type Range, RangeFilters } from "../parts/range.tsx";
import {
  type Behind,
  behindNight,
  nameOfHotel,
  ReportFilters,
  ReportTable,
  type Sum,
  useExcelOfReport,
  useSum,
} from "../parts/report.tsx";
import { SavedViews } from "../parts/saved-views.tsx";
import { Disclosure, Instant } from "../parts/values.tsx";
import { useFilters, withChanges } from "../routing/filters.ts";

const RENEWED_MS = 60_000;
const RANGE_STANDARD = "next30";

/** The daily report of all hotels, or of those of the address. */
export function PortfolioReportPage() {
  const { filters } = useFilters();
  const sum = useSum(true);
  const { from, to, range, hotels, search, city, comparable } = Object.fromEntries(filters);
  const nights: Readonly<Record<string, string>> =
    from !== undefined && to !== undefined ? { from, to } : { range: range ?? RANGE_STANDARD };
  const address = addressOf("portfolio-report", {
    ...{ ...nights, hotels, search, city, comparable },
    sum,
  });
  const asked = useAnswer<PortfolioReport>(address, { keeps: true, againMs: () => RENEWED_MS });
  const { data } = asked;
  const shownAlone = useExcelOfReport();
  const shownBeside = useExcelOfBeside();
  const year = filters.get("beside") ?? "";
  const selected = readHotels(hotels ?? "");
  const besideOf = (answer: PortfolioReport) =>
    isYear(year) ? besideYear(answer, year, behindOf(answer, nights, sum, filters)) : undefined;
  const shown = (answer: PortfolioReport) => {
    const beside = besideOf(answer);
    return beside === undefined ? shownAlone(answer) : shownBeside(beside, sum);
  };
  return (
    <Page
      title="Daily report"
      lead={`${selected.length === 0 ? "All hotels" : writeMany(selected.length, "selected hotel")} together, beside last year, with the pickup of the last business days. A figure opens its hotels.`}
      actions={
        <>
          <SideBySide of={selected} nights={nights} sum={sum} />
          <ExportButtons<object>
            name={data === undefined ? "daily-report" : `daily-report-${data.from}-to-${data.to}`}
            of={data === undefined ? [] : isYear(year) ? besideItems(besideOf(data)) : data.items}
            about={aboutReport(data)}
            shown={data === undefined ? undefined : () => shown(data)}
          />
        </>
      }
    >
      <Filters>
        {data !== undefined && (
          <>
            <RangeFilters range={data} />
            <Presets range={data} begin={data.businessDay} names={KEPT_RANGES} />
          </>
        )}
        {selected.length > 0 && <SelectedHotels of={selected} />}
        <AddressFilter name="search" label="Code, name or city" wide />
        <ReportFilters ofHotels isBeside={isYear(year)} />
        <AddressSelect name="beside" label="Compare with" options={[["", "nothing"], ...YEAR_OPTIONS]} />
      </Filters>
      <SavedViews />
      <Answered asked={asked} lines={14}>
        {(answer) => (
          <>
            <LeftOut of={answer} />
            {answer.items.length === 0 ? (
              <NoHotels of={answer} />
            ) : (
              <Rows
                answer={answer}
                beside={besideOf(answer)}
                behind={behindOf(answer, nights, sum, filters)}
              />
            )}
            <AsOfHotels of={answer} />
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Says that the report is of some hotels, and ends it. */
function SelectedHotels({ of }: { of: readonly PropertyCodes[] }) {
  const { change } = useFilters();
  const all = () => change({ hotels: undefined });
  useChip("Hotels", `${writeCount(of.length)} selected`, all);
  return (
    <div className="field" title={of.map(writeGrant).join(", ")}>
      <span className="label">
        Hotels<span className="picked">{writeCount(of.length)} selected</span>
      </span>
      <Button onClick={all}>All hotels</Button>
    </div>
  );
}

interface SideBySideProps {
  readonly of: readonly PropertyCodes[];
  readonly nights: Readonly<Record<string, string>>;
  readonly sum: Sum;
}

/** Of two hotels, the report with both beside each other. */
function SideBySide({ of: [one, other, ...others], nights, sum }: SideBySideProps) {
  if (one === undefined || other === undefined || others.length > 0) return null;
  const by = sum === "" || sum === "property" ? undefined : sum;
  return <LinkButton to={sideBySidePath([one, other], { ...nights, sum: by })}>Side by side</LinkButton>;
}

interface RowsProps {
  readonly answer: PortfolioReport;
  readonly beside: Beside | undefined;
  readonly behind: Behind;
}

function Rows({ answer: { items, totals }, beside, behind }: RowsProps) {
  const { isWeekend } = usePropertyView();
  const sum = useSum(true);
  if (beside !== undefined)
    return <BesideTable of={beside} sum={sum} behindRow={behind} isWeekend={isWeekend} />;
  return <ReportTable items={items} totals={totals} behind={behind} isWeekend={isWeekend} ofHotels />;
}

function aboutReport(of: PortfolioReport | undefined) {
  if (of === undefined) return [];
  return [
    ["Report", "Daily report"],
    ["First night", of.from],
    ["Last night", of.to],
    ["Hotels", String(of.properties)],
    ["Without", of.missing.map(({ clientCode, propertyCode }) => `${clientCode}/${propertyCode}`).join(", ")],
    ["Figures from", of.oldestAsOf ?? ""],
    ["Figures to", of.newestAsOf ?? ""],
    ["Business day", of.businessDay],
  ] as const;
}

function NoHotels({ of: { missing } }: { of: PortfolioReport }) {
  if (missing.length > 0)
    return (
      <Empty title="No hotel has figures of these nights">
        Figures are kept of the current month and of the next 90 nights. Choose another range.
      </Empty>
    );
  return (
    <Empty title="No hotel matches" actions={<LinkButton to="/report">All hotels</LinkButton>}>
      Codes, names and cities are searched for each word. Hotels without bookings and inventory have no rows.
    </Empty>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  noFigures: "no figures are computed yet",
  nights: "its figures do not have all of these nights",
  lastYear: "last year is not known",
};

const FIGURE_NAMES: Readonly<Record<string, string>> = {
  lastYear: "last year",
  pickup1: "pickup 1",
  pickup3: "pickup 3",
  pickup7: "pickup 7",
  pickup30: "pickup 30",
};

/** Names the hotels that are not added up, and those that leave a figure unknown. */
function LeftOut({ of: { missing, unknown } }: { of: PortfolioReport }) {
  const { filters, change } = useFilters();
  const isComparable = filters.get("comparable") === "lastYear";
  const hasYearless = unknown.some(({ figures }) => figures.includes("lastYear"));
  return (
    <>
      {missing.length > 0 && (
        <Notice
          tone={isComparable ? "plain" : "warn"}
          title={`Without ${writeMany(missing.length, "hotel")}`}
          action={
            isComparable ? (
              <Button onClick={() => change({ comparable: undefined })}>All hotels</Button>
            ) : undefined
          }
        >
          <Names
            of={missing.map((hotel) => [nameOfHotel(hotel), REASONS[hotel.reason] ?? hotel.reason] as const)}
          />
        </Notice>
      )}
      {unknown.length > 0 && (
        <Notice
          title={`Blank where ${writeMany(unknown.length, "hotel")} cannot say`}
          action={
            hasYearless && !isComparable ? (
              <Button onClick={() => change({ comparable: "lastYear" })}>Only hotels with last year</Button>
            ) : undefined
          }
        >
          <Names
            of={unknown.map(
              (hotel) =>
                [
                  nameOfHotel(hotel),
                  hotel.figures.map((figure) => FIGURE_NAMES[figure] ?? figure).join(", "),
                ] as const,
            )}
          />
        </Notice>
      )}
    </>
  );
}

const NAMES_SHOWN = 3;

/** The first few names; all of them on demand. */
function Names({ of }: { of: readonly (readonly [name: string, why: string])[] }) {
  const write = (some: typeof of) => some.map(([name, why]) => `${name} (${why})`).join("; ");
  if (of.length <= NAMES_SHOWN) return write(of);
  return (
    <Disclosure
      summary={`${write(of.slice(0, NAMES_SHOWN))} and ${writeCount(of.length - NAMES_SHOWN)} more`}
    >
      {write(of)}
    </Disclosure>
  );
}

function AsOfHotels({
  of: { oldestAsOf, properties, businessDay, lastBusinessDay },
}: {
  of: PortfolioReport;
}) {
  if (oldestAsOf === null) return null;
  return (
    <p className="small muted">
      {writeMany(properties, "hotel")}, figures as of <Instant at={oldestAsOf} /> or later. Pickup and last
      year go by each hotel's own business day
      {businessDay === lastBusinessDay ? "" : ", which are two dates now"}; last year is as of the start of
      the hour, 364 days earlier.
    </p>
  );
}

/** A figure of nights opens its hotels, that of a hotel its night, or its report of the nights that were asked for. */
function behindOf(
  range: Range,
  asked: Readonly<Record<string, string>>,
  sum: Sum,
  filters: URLSearchParams,
): Behind {
  const hotelsOf = (nights: Range, by: Sum) =>
    withChanges("/report", filters.toString(), {
      ...{ from: nights.from, to: nights.to, range: undefined, sum: by },
      ...{ only: undefined, sort: undefined, order: undefined },
    });
  return (figure, { stayDate, dates = 1, clientCode, propertyCode }) => {
    if (sum === "dayOfWeek") return undefined;
    if (clientCode === undefined || propertyCode === undefined) {
      const nights = { from: stayDate, to: addDays(stayDate, dates - 1) };
      return hotelsOf(nights, figure === "night" && sum !== "" ? "" : "property");
    }
    const codes = { clientCode, propertyCode };
    if (figure !== "night" && range.from === range.to) return behindNight(codes, figure, stayDate);
    return propertyPath("/property/report", codes, asked);
  };
}
