import type { ComponentType, ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import type { ExcelTable } from "../../../../contract/src/excel.ts";
import type { Series } from "../../charts/plot.tsx";
import type { FeedHealthAnswer, PropertyCodes, ReconciliationItem } from "../../contract.ts";
import { type Asked, addressOf, type ask, useAnswer } from "../../data/queries.ts";
import {
  addMoney,
  isStayDate,
  propertyPath,
  readInstant,
  writeCount,
  writeDate,
  writeMany,
  writeMoney,
  writeSigned,
  writeSignedMoney,
} from "../../field/format.ts";
import { LinkButton } from "../../parts/button.tsx";
import { AddressChoice, AddressSelect, InstantFilter } from "../../parts/field.tsx";
import { Filters } from "../../parts/filters.tsx";
import { type Column, ExportButtons } from "../../parts/list.tsx";
import { Answered, Empty, Notice, Page } from "../../parts/page.tsx";
import { ClockChoice, PropertyViewProvider, usePropertyView } from "../../parts/property-view.tsx";
import { type Range, RangeFilters, useRange } from "../../parts/range.tsx";
import { SavedViews } from "../../parts/saved-views.tsx";
import { Instant, orDash, Word } from "../../parts/values.tsx";
import { useFilters, withChanges } from "../../routing/filters.ts";
import { PROPERTY_TABS } from "../../shell/places.ts";
import { PropertySwitcher } from "../../shell/search.tsx";

/** A page for the property in the address. */
export function ofProperty(Tab: ComponentType<{ codes: PropertyCodes }>) {
  return function PropertyTab() {
    const { filters } = useFilters();
    const clientCode = filters.get("clientCode");
    const propertyCode = filters.get("propertyCode");
    if (clientCode !== null && propertyCode !== null)
      return (
        <PropertyViewProvider codes={{ clientCode, propertyCode }}>
          <Tab key={`${clientCode} ${propertyCode}`} codes={{ clientCode, propertyCode }} />
        </PropertyViewProvider>
      );
    return (
      <Page title="Property" crumbs={[{ to: "/", text: "Portfolio" }]}>
        <Empty title="Which property?" actions={<LinkButton to="/">Portfolio</LinkButton>}>
          The address has no client code and property code.
        </Empty>
      </Page>
    );
  };
}

interface PropertyPageProps {
  readonly codes: PropertyCodes;
  readonly title: string;
  readonly lead: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function PropertyPage({ codes, title, lead, actions, children }: PropertyPageProps) {
  const [path] = useLocation();
  const { filters } = useFilters();
  const { name, city, isKnown } = usePropertyView();
  const written = `${codes.clientCode} / ${codes.propertyCode}`;
  const tab = PROPERTY_TABS.find(([to]) => to === path)?.[1] ?? "";
  const night = filters.get("night");
  // Filters apply to every tab, except the opened night; the overview always shows the present.
  const tabPath = (to: string) =>
    withChanges(to, filters.toString(), {
      night: undefined,
      ...(to === "/property" ? { asOf: undefined, clock: undefined } : {}),
    });
  const crumbs = [
    { to: "/", text: "Portfolio" },
    { to: tabPath("/property"), text: name ?? written },
    { to: tabPath(path), text: tab },
    ...(night !== null && isStayDate(night) ? [{ to: "", text: writeDate(night) }] : []),
  ];
  return (
    <Page
      title={`${title} of ${name ?? written}`}
      heading={name ?? written}
      beside={<PropertySwitcher codes={codes} />}
      lead={
        <>
          <span className="about">
            {name !== null && <span>{written}</span>}
            {city !== null && <span>{city}</span>}
            <ClockChoice />
          </span>
          {lead}
        </>
      }
      crumbs={crumbs.slice(0, -1)}
      here={crumbs.at(-1)?.text ?? ""}
      visit={
        isKnown
          ? { to: propertyPath("/property", codes), text: name ?? written, note: city ?? "" }
          : undefined
      }
      actions={
        <>
          <LinkButton to={propertyPath("/settings", codes)}>Settings</LinkButton>
          {actions}
        </>
      }
    >
      <nav className="tabs" aria-label={written} ref={showCurrent}>
        {PROPERTY_TABS.map(([to, text]) => (
          <Link key={to} to={tabPath(to)} aria-current={to === path ? "page" : undefined}>
            {text}
          </Link>
        ))}
      </nav>
      {children}
    </Page>
  );
}

/** Scrolls the current tab into view on a phone, leaving the end of the previous one visible. */
function showCurrent(tabs: HTMLElement | null): void {
  const current = tabs?.querySelector<HTMLElement>("[aria-current]");
  if (tabs === null || current === null || current === undefined) return;
  tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - 56;
}

export function usePointInTime(): {
  readonly asOf: string | undefined;
  readonly clock: "receipt" | undefined;
} {
  const { filters } = useFilters();
  return {
    asOf: readInstant(filters.get("asOf") ?? "", "end"),
    clock: filters.get("clock") === "receipt" ? "receipt" : undefined,
  };
}

export const ROWS_MAX = 1000;

interface Insight<Answer> {
  readonly range: Range;
  /** The address of the list, without the open page. */
  readonly address: string;
  readonly asked: Asked<Answer>;
}

/** An insight query with the filters of the page's address. */
export function useInsight<Answer>(
  name: string,
  codes: PropertyCodes,
  nights: Range,
  more: Readonly<Record<string, string | undefined>> = {},
  read?: typeof ask<Answer>,
): Insight<Answer> {
  const range = useRange(nights);
  const cursor = useFilters().filters.get("cursor") ?? undefined;
  const parameters = { ...codes, ...range, ...usePointInTime(), limit: ROWS_MAX, ...more };
  const asked = useAnswer(addressOf(`insight/${name}`, { ...parameters, cursor }), { keeps: true }, read);
  return { range, address: addressOf(`insight/${name}`, parameters), asked };
}

export function useFeeds(codes: PropertyCodes): Asked<FeedHealthAnswer> {
  return useAnswer(addressOf("insight/feed-health", { ...codes }));
}

type OfNight = Pick<ReconciliationItem, "stayDate" | "roomType">;

export function nightColumns(byRoomType: boolean): readonly Column<OfNight>[] {
  const roomType: Column<OfNight> = { head: "Room type", cell: (item) => orDash(item.roomType) };
  return [
    { head: "Night", lead: true, cell: ({ stayDate }) => <Word>{writeDate(stayDate)}</Word> },
    ...(byRoomType ? [roomType] : []),
  ];
}

export function useByRoomType(): "roomType" | undefined {
  return useFilters().filters.get("by") === "roomType" ? "roomType" : undefined;
}

interface InsightPageProps<Answer> extends Omit<PropertyPageProps, "actions" | "children"> {
  readonly insight: Insight<Answer>;
  readonly filters: ReactNode;
  readonly intro?: ReactNode;
  readonly lines: number;
  /** Says the instant of the answer, unless `intro` does. */
  readonly isDated?: boolean;
  /** The table on the screen, for Excel. */
  readonly shown?: (answer: Answer) => Omit<ExcelTable, "about">;
  /** The rows of other files, in place of those at the insight's address. */
  readonly saved?: ((answer: Answer) => readonly object[]) | undefined;
  /** What files say of the page besides its property and range. */
  readonly about?: ExcelTable["about"];
  readonly children: (answer: Answer) => ReactNode;
}

function shownOf<Answer>(
  answer: Answer | undefined,
  shown: (answer: Answer) => Omit<ExcelTable, "about">,
): (() => Omit<ExcelTable, "about">) | undefined {
  return answer === undefined ? undefined : () => shown(answer);
}

/** The instants and days of an answer, for files. */
function aboutAnswer(
  answer: (Dated & { readonly lastYearAsOf?: string | null }) | undefined,
): ExcelTable["about"] {
  if (answer === undefined) return [];
  return [
    ["As of", answer.asOf ?? answer.readAt],
    ["Business day", answer.businessDay],
    ["Time zone", answer.timeZone],
    ...(typeof answer.lastYearAsOf === "string" ? [["Last year as of", answer.lastYearAsOf] as const] : []),
  ];
}

export function InsightPage<Answer extends WatermarkProps & Dated>(props: InsightPageProps<Answer>) {
  const {
    codes,
    title,
    lead,
    insight,
    filters,
    intro,
    lines,
    isDated = true,
    shown,
    saved,
    children,
  } = props;
  const { range, address, asked } = insight;
  const { name } = usePropertyView();
  const file = `${title.toLowerCase().replaceAll(" ", "-")}-${codes.clientCode}-${codes.propertyCode}-${range.from}-to-${range.to}`;
  const about = [
    ["Report", title],
    ["Client code", codes.clientCode],
    ["Property", codes.propertyCode],
    ["Name", name ?? ""],
    ["First night", range.from],
    ["Last night", range.to],
    ...aboutAnswer(asked.data),
    ...(props.about ?? []),
  ] as const;
  const rows = asked.data === undefined ? undefined : saved?.(asked.data);
  return (
    <PropertyPage
      codes={codes}
      title={title}
      lead={lead}
      actions={
        <ExportButtons
          name={file}
          of={rows ?? address}
          about={about}
          shown={shown && shownOf(asked.data, shown)}
        />
      }
    >
      <InsightFilters range={range}>{filters}</InsightFilters>
      {intro}
      <Answered asked={asked} lines={lines}>
        {(answer) => (
          <>
            {children(answer)}
            {isDated && <AsOf of={answer} />}
            <Watermark watermark={answer.watermark} knownFrom={answer.knownFrom} />
          </>
        )}
      </Answered>
    </PropertyPage>
  );
}

export function InsightFilters({ range, children }: { range: Range; children?: ReactNode }) {
  return (
    <>
      <Filters>
        <RangeFilters range={range} />
        {children}
      </Filters>
      <SavedViews />
    </>
  );
}

export function ClockFilter() {
  return <AddressChoice name="clock" label="Clock" options={{ source: "Source", receipt: "Receipt" }} />;
}

export function PointInTimeFilters() {
  return (
    <>
      <InstantFilter name="asOf" label="As of" end="end" placeholder="now" />
      <ClockFilter />
    </>
  );
}

/** Shown if the joined response was too long to load completely. */
export function CutNotice({ nextCursor }: { nextCursor: string | null | undefined }) {
  if (nextCursor === null || nextCursor === undefined) return null;
  return (
    <Notice tone="warn" title="These nights have more rows than one page sums">
      The last ones are missing here. Choose a shorter range.
    </Notice>
  );
}

/** The instant and the days of an answer. */
export interface Dated {
  readonly asOf: string | null;
  readonly readAt: string;
  readonly timeZone: string;
  readonly businessDay: string;
}

/** The instant of an answer, its business day, and the instant that last year's figures are of. */
export function AsOf({ of, lastYearAsOf = null }: { of: Dated; lastYearAsOf?: string | null }) {
  return (
    <p className="small muted">
      As of <Instant at={of.asOf ?? of.readAt} />, business day {writeDate(of.businessDay)} in {of.timeZone}.
      {lastYearAsOf !== null && (
        <>
          {" "}
          Last year as of <Instant at={lastYearAsOf} />.
        </>
      )}
    </p>
  );
}

/** The window of a pickup of so many business days, the current one included. */
export function pickupName(days: number): string {
  return days === 1 ? "Since yesterday's close" : `${days} days, with today`;
}

interface WatermarkProps {
  readonly watermark: string | null;
  readonly knownFrom?: string | undefined;
}

/** Until when an answer at a point in time is final. */
function Watermark({ watermark, knownFrom }: WatermarkProps) {
  return (
    <>
      {typeof watermark === "string" && (
        <p className="small muted">
          Complete up to <Instant at={watermark} as="exact" /> of receipt: at or before it this answer never
          changes.
        </p>
      )}
      {knownFrom !== undefined && (
        <p className="small muted">
          Old versions are deleted after their retention: inventory from before{" "}
          <Instant at={knownFrom} as="exact" /> that was replaced since may be missing here.
        </p>
      )}
    </>
  );
}

/** Money is of one currency. */
export type Measure = { readonly of: "rooms" } | { readonly of: "revenue"; readonly currency: string };

export function unitOf(measure: Measure): string {
  return measure.of === "rooms" ? "Rooms" : `Room revenue, ${measure.currency}`;
}

/** An exact decimal text as `12` or `412.50`. */
export function writeAmount(text: string, { of }: Measure): string {
  return of === "rooms" ? writeCount(Number(text)) : writeMoney(text);
}

/** `+3`, or `+412.50` */
export function writeSignedAmount(text: string, { of }: Measure): string {
  return of === "rooms" ? writeSigned(Number(text)) : writeSignedMoney(text);
}

/** Drawn as numbers, labelled with the exact decimal texts. */
export function measuredSeries(
  look: Pick<Series, "name" | "kind">,
  texts: readonly (string | null)[],
  measure: Measure,
): Series {
  return {
    ...look,
    values: texts.map((text) => (text === null ? null : Number(text))),
    write: (value, place) =>
      measure.of === "rooms"
        ? writeMany(value, "room")
        : `${writeMoney(texts[place] ?? "0")} ${measure.currency}`,
  };
}

/** Opens a night on the current page. */
export function NightLink({ night, children }: { night: string; children: string }) {
  const [path] = useLocation();
  return (
    <Link className="nowrap" to={withChanges(path, useSearch(), { night })}>
      {children}
    </Link>
  );
}

interface Priced {
  readonly currency: string | null;
}

/** The currencies of a response, the most frequent first. */
export function currenciesOf(items: readonly Priced[]): readonly string[] {
  const rows = new Map<string, number>();
  for (const { currency } of items) if (currency !== null) rows.set(currency, (rows.get(currency) ?? 0) + 1);
  return [...rows].toSorted(([, one], [, other]) => other - one).map(([currency]) => currency);
}

/** Rooms if no item has a price. */
export function useMeasure(items: readonly Priced[]): {
  readonly measure: Measure;
  readonly currencies: readonly string[];
} {
  const { filters } = useFilters();
  const currencies = currenciesOf(items);
  const given = filters.get("currency");
  const currency = currencies.find((each) => each === given) ?? currencies[0];
  const measure: Measure =
    filters.get("show") === "revenue" && currency !== undefined
      ? { of: "revenue", currency }
      : { of: "rooms" };
  return { measure, currencies };
}

/** Changing the measure keeps the page of the table. */
export function MeasureFilters({ items }: { items: readonly Priced[] }) {
  const { measure, currencies } = useMeasure(items);
  return (
    <>
      <AddressChoice name="show" label="Chart" keepsPage options={{ rooms: "Rooms", revenue: "Revenue" }} />
      {measure.of === "revenue" && currencies.length > 1 && (
        <AddressSelect name="currency" label="Currency" keepsPage options={currencies} />
      )}
    </>
  );
}

interface Measured extends Priced {
  readonly rooms: number;
  readonly roomRevenue: string | null;
}

/** Sums rooms, or the revenue of one currency, as decimal text by night, group … */
export function sumBy<Item extends Measured>(
  items: readonly Item[],
  measure: Measure,
  nameOf: (item: Item) => string,
): ReadonlyMap<string, string> {
  const sums = new Map<string, string>();
  for (const item of items) {
    if (measure.of === "revenue" && item.currency !== measure.currency) continue;
    const own = measure.of === "rooms" ? String(item.rooms) : (item.roomRevenue ?? "0");
    const name = nameOf(item);
    sums.set(name, addMoney([sums.get(name) ?? "0", own]));
  }
  return sums;
}

/** Insights of an unknown property are empty, not errors. */
export function NoSuchProperty({ codes }: { codes: PropertyCodes }) {
  return (
    <Empty title={`There is no property ${codes.clientCode} / ${codes.propertyCode}`}>
      No record has ever named it. The address may be wrong, or its first batch is still to come.
    </Empty>
  );
}

/** In place of a page's figures: that there is no such property, or else what is missing. */
export function NothingOfProperty({
  codes,
  title,
  children,
}: {
  codes: PropertyCodes;
  title: string;
  children: ReactNode;
}) {
  const { data } = useFeeds(codes);
  if (data?.items.length === 0) return <NoSuchProperty codes={codes} />;
  return <Empty title={title}>{children}</Empty>;
}
