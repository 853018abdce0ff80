import { memo, type ReactNode, useDeferredValue } from "react";
import { Link } from "wouter";
import { Spark } from "../charts/spark.tsx";
import type {
  FeedGlance,
  PortfolioAmounts,
  PortfolioAnswer,
  PortfolioFigures,
  PortfolioItem,
  PortfolioSort,
  PortfolioTotal,
  PropertyCodes,
} from "../contract.ts";
import {
  namesOf,
  propertyPath,
  sideBySidePath,
  writeChange,
  writeCount,
  writeDate,
  writeHotels,
  writeInstant,
  writeMany,
  writeMoney,
  writePoints,
  writeShare,
  writeSigned,
  writeSignedMoney,
} from "../field/format.ts";
import { LinkButton } from "../parts/button.tsx";
import { AddressChoice, AddressFilter, AddressSelect } from "../parts/field.tsx";
import { Filters } from "../parts/filters.tsx";
import { type Column, ExportButtons, Pager, Table, useList } from "../parts/list.tsx";
import { Answered, Empty, Notice, Page } from "../parts/page.tsx";
import { SavedViews } from "../parts/saved-views.tsx";
import { HotelBox, Selectable } from "../parts/selection.tsx";
import { Badge, Instant, orDash } from "../parts/values.tsx";
import { useFilters, withChanges } from "../routing/filters.ts";

const NIGHTS = [
  ["1", "Today"],
  ["7", "7 nights"],
  ["30", "30 nights"],
  ["90", "90 nights"],
] as const;
const NIGHTS_STANDARD = "30";
const ATTENTION = {
  "": "Any",
  any: "needs attention",
  silent: "silent feed",
  quarantine: "quarantined records",
  variance: "variance",
  unmapped: "unmapped statuses",
} as const;
const ROWS_SHOWN = 100;
/** The maximum count of quarantined records per property. */
const COUNTED_MAX = 1_000;
const RENEWED_MS = 60_000;

/** A property, or the total of a currency. */
type PortfolioRow = PortfolioItem | PortfolioTotal;

const isTotal = (row: PortfolioRow): row is PortfolioTotal => "lastYearProperties" in row;

/** Null also for a total if last year is unknown for some of its properties. */
const lastYearOf = (row: PortfolioRow) =>
  isTotal(row) && row.lastYearProperties < row.properties ? null : row.lastYear;

/** A total of a currency that is not any property's main currency. Its rooms count in another total. */
const hasMoneyOnly = (row: PortfolioRow) => isTotal(row) && row.now.rooms === 0;

type PortfolioColumn = Column<PortfolioRow> & { readonly sort?: PortfolioSort };

function Title({ of }: { of: PortfolioRow }) {
  if (isTotal(of))
    return (
      <>
        {of.currency ?? "No currency"}
        <span className="sub">{writeMany(of.properties, "property", "properties")}</span>
      </>
    );
  const { text, note } = namesOf(of);
  return (
    <>
      <Link to={propertyPath("/property", of)}>{text}</Link>
      <span className="sub">{note}</span>
    </>
  );
}

interface FigureProps {
  readonly of: PortfolioRow;
  readonly value: (figures: PortfolioFigures) => ReactNode;
  /** Shown below the value: the change from last year, if known. */
  readonly change?: (now: PortfolioFigures, lastYear: PortfolioFigures) => ReactNode;
}

function Figure({ of, value, change }: FigureProps) {
  const [now, lastYear] = [of.now, lastYearOf(of)];
  if (now === null || hasMoneyOnly(of)) return <span className="muted">–</span>;
  return (
    <>
      {value(now)}
      {change !== undefined && lastYear !== null && <span className="sub">{change(now, lastYear)}</span>}
    </>
  );
}

type AmountName = Exclude<keyof PortfolioAmounts, "currency">;

interface AmountsProps {
  readonly of: PortfolioRow;
  readonly name: AmountName;
  readonly isNamed?: boolean;
}

/** An amount per currency, with last year's amount. */
function Amounts({ of, name, isNamed = false }: AmountsProps) {
  const [now, lastYear] = [of.now, lastYearOf(of)];
  if (now === null || now.amounts.length === 0) return <span className="muted">–</span>;
  return now.amounts.map(({ currency, [name]: amount }) => {
    const then = lastYear?.amounts.find((one) => one.currency === currency)?.[name] ?? null;
    return (
      <div key={currency}>
        {orDash(amount, writeMoney)}
        {isNamed && <span className="muted small"> {currency}</span>}
        {amount !== null && then !== null && (
          <span className="sub">{writeChange(Number(amount), Number(then))}</span>
        )}
      </div>
    );
  });
}

function Pickup({ of, nights, since }: { of: PortfolioRow; nights: number; since: "day" | "week" }) {
  return (
    <Figure
      of={of}
      value={({ pickup }) => (
        <span title={pickup[since].amounts.map(writePickedUp).join(", ")}>
          <ToNights of={of} nights={nights} path="/property/pickup">
            {writeSigned(pickup[since].rooms)}
          </ToNights>
        </span>
      )}
      change={({ pickup }, lastYear) => writeSigned(pickup[since].rooms - lastYear.pickup[since].rooms)}
    />
  );
}

const writePickedUp = ({ roomRevenue, currency }: { roomRevenue: string; currency: string | null }) =>
  `${writeSignedMoney(roomRevenue)} ${currency ?? ""}`;

interface ToNightsProps {
  readonly of: PortfolioRow;
  readonly nights: number;
  readonly path: string;
  readonly children: string;
}

/** Links to the nights of the row on a page of its property. */
function ToNights({ of, nights, path, children }: ToNightsProps) {
  if (isTotal(of) || of.day === null) return children;
  const range = nights === 1 ? { from: of.day, to: of.day } : { range: `next${nights}` };
  return (
    <Link className="quiet" to={propertyPath(path, of, range)}>
      {children}
    </Link>
  );
}

function Change({ of, nights }: { of: PortfolioRow; nights: number }) {
  const [now, lastYear] = [of.now, lastYearOf(of)];
  if (now === null || hasMoneyOnly(of)) return <span className="muted">–</span>;
  if (isTotal(of) && of.lastYear !== null && lastYear === null)
    return (
      <span className="muted">
        {writeCount(of.lastYearProperties)} of {writeCount(of.properties)} known
      </span>
    );
  if (lastYear === null)
    return (
      <span className="muted">
        {isTotal(of) || of.lastYearKnownFrom === null
          ? "no data"
          : `known from ${writeDate(of.lastYearKnownFrom)}`}
      </span>
    );
  return (
    <>
      <ToNights of={of} nights={nights} path="/property/on-the-books">
        {writeSigned(now.rooms - lastYear.rooms)}
      </ToNights>
      <span className="sub">{writeChange(now.rooms, lastYear.rooms)}</span>
    </>
  );
}

const describeFeed = ({ resource, lastReceivedAt, state }: FeedGlance) =>
  `${resource}: ${state === "never" ? "never sent" : `${state}, last ${lastReceivedAt === null ? "" : writeInstant(lastReceivedAt)}`}`;

/** Problems of a property, one per line, and the time of the newest batch. */
function Attention({ of }: { of: PortfolioItem }) {
  const { feeds, variance, quarantined, attention, clientCode } = of;
  const silent = feeds.filter(({ state }) => state === "silent");
  const newest = feeds.flatMap(({ lastReceivedAt }) => lastReceivedAt ?? []).sort();
  const health = propertyPath("/property/calendar", of);
  return (
    <div className="attention" title={feeds.map(describeFeed).join("\n")}>
      {silent.map(({ resource }) => (
        <Link key={resource} className="quiet" to={health}>
          <Badge tone="bad">{resource} silent</Badge>
        </Link>
      ))}
      {variance !== null && variance.nights > 0 && (
        <Link
          to={propertyPath("/property/reconciliation", of)}
          title={`Inventory and reservations differ on ${writeMany(variance.nights, "night")}`}
        >
          {writeMany(variance.rooms, "room")} differ
        </Link>
      )}
      {quarantined > 0 && (
        <Link to={propertyPath("/quarantine", of)}>
          {quarantined === COUNTED_MAX && "at least "}
          {writeCount(quarantined)} quarantined
        </Link>
      )}
      {attention.includes("unmapped") && (
        <Link to={`/settings?${new URLSearchParams({ clientCode, statuses: "unmapped" })}`}>unmapped</Link>
      )}
      {attention.length === 0 && (
        <Link className="quiet" to={health}>
          <span className="muted">
            last batch <Instant at={newest.at(-1) ?? null} as="ago" />
          </span>
        </Link>
      )}
    </div>
  );
}

const ofItem = (Cell: (props: { of: PortfolioItem }) => ReactNode) => (row: PortfolioRow) =>
  isTotal(row) ? null : <Cell of={row} />;

const points = (now: string | null, then: string | null) =>
  now === null || then === null ? "" : writePoints(Number(now), Number(then));

/** If all rows share a currency, the total names it once. */
const columnsOf = (isMixed: boolean, nights: number): readonly PortfolioColumn[] => [
  {
    head: "Select",
    action: true,
    cell: ofItem(({ of }) => <HotelBox of={of} name={namesOf(of).text} />),
  },
  { head: "Property", lead: true, sort: "name", cell: (row) => <Title of={row} /> },
  {
    head: "Next 90 nights",
    cell: ofItem(({ of: { rooms, roomsLastYear } }) =>
      rooms === null ? null : <Spark now={rooms} before={roomsLastYear} />,
    ),
  },
  {
    head: "Occupancy",
    end: true,
    sort: "occupancy",
    cell: (row) => (
      <Figure
        of={row}
        value={({ occupancy }) => orDash(occupancy, writeShare)}
        change={(now, then) => points(now.occupancy, then.occupancy)}
      />
    ),
  },
  {
    head: "Rooms",
    end: true,
    sort: "rooms",
    cell: (row) => <Figure of={row} value={({ rooms }) => writeCount(rooms)} />,
  },
  { head: "vs last year", end: true, sort: "change", cell: (row) => <Change of={row} nights={nights} /> },
  {
    head: "Revenue",
    end: true,
    sort: "revenue",
    cell: (row) => <Amounts of={row} name="roomRevenue" isNamed={isMixed} />,
  },
  { head: "ADR", end: true, sort: "adr", cell: (row) => <Amounts of={row} name="adr" /> },
  { head: "RevPAR", end: true, sort: "revpar", cell: (row) => <Amounts of={row} name="revpar" /> },
  {
    head: "Pickup since yesterday's close",
    end: true,
    sort: "pickupDay",
    cell: (row) => <Pickup of={row} nights={nights} since="day" />,
  },
  {
    head: "Pickup 7 days",
    end: true,
    sort: "pickupWeek",
    cell: (row) => <Pickup of={row} nights={nights} since="week" />,
  },
  { head: "Attention", sort: "variance", cell: ofItem(Attention) },
];

const CSV =
  "clientCode propertyCode name city asOf day timeZone rooms occupancy currency roomRevenue adr revpar dayUseRevenue feeRevenue outsideStayRevenue pickupDay pickupWeek lastYearAsOf lastYearKnownFrom lastYearRooms lastYearOccupancy lastYearRoomRevenue varianceNights varianceRooms quarantined attention";

/** One line per currency of a property. */
function csvLines(item: PortfolioItem): object[] {
  const { now, lastYear, variance } = item;
  const amounts: readonly Partial<PortfolioAmounts>[] = now?.amounts.length ? now.amounts : [{}];
  return amounts.map((amount) => ({
    ...item,
    ...amount,
    rooms: now?.rooms,
    occupancy: now?.occupancy,
    pickupDay: now?.pickup.day.rooms,
    pickupWeek: now?.pickup.week.rooms,
    lastYearRooms: lastYear?.rooms,
    lastYearOccupancy: lastYear?.occupancy,
    lastYearRoomRevenue: lastYear?.amounts.find(({ currency }) => currency === amount.currency)?.roomRevenue,
    varianceNights: variance?.nights,
    varianceRooms: variance?.rooms,
  }));
}

/** The nights of the portfolio, in reports. */
const rangeOf = (nights: string): string | undefined => (nights === "1" ? undefined : `next${nights}`);

/** Of a report's address, as the API has it. */
const SELECTED_MAX = 200;

/** The daily reports of selected hotels. */
function ReportLinks({ of: hotels, range }: { of: readonly PropertyCodes[]; range: string | undefined }) {
  const [first, second, ...others] = hotels;
  if (hotels.length > SELECTED_MAX)
    return <span className="muted">A report has at most {writeCount(SELECTED_MAX)} selected hotels</span>;
  return (
    <>
      <LinkButton kind="main" to={withChanges("/report", "", { hotels: writeHotels(hotels), range })}>
        Daily report
      </LinkButton>
      {first !== undefined && second !== undefined && others.length === 0 && (
        <LinkButton to={sideBySidePath([first, second], { range })}>Side by side</LinkButton>
      )}
    </>
  );
}

export function PortfolioPage() {
  const { filters } = useFilters();
  const { search, city, attention, sort, order, nights = NIGHTS_STANDARD } = Object.fromEntries(filters);
  const asked = useList<PortfolioAnswer>(
    "portfolio",
    { nights, search, city, attention, sort, order },
    { limit: ROWS_SHOWN, againMs: () => RENEWED_MS },
  );
  const cities = asked.data?.cities ?? [];
  return (
    <Page
      title="Portfolio"
      lead="On the books from today. Below each figure: its change from the same weekdays at this time last year."
      actions={
        <>
          <LinkButton to={withChanges("/report", "", { search, city, range: rangeOf(nights) })}>
            Daily report
          </LinkButton>
          <ExportButtons name="portfolio" of={asked.whole} csv={CSV} csvRow={csvLines} />
        </>
      }
    >
      <Filters>
        <AddressChoice label="Nights" name="nights" standard={NIGHTS_STANDARD} options={NIGHTS} />
        <AddressFilter name="search" label="Code, name or city" first wide />
        {cities.length > 0 && <AddressSelect name="city" label="City" options={[["", "Any"], ...cities]} />}
        <AddressSelect name="attention" label="Attention" options={ATTENTION} />
      </Filters>
      <SavedViews />
      <Answered asked={asked} lines={12}>
        {(answer) =>
          answer.items.length === 0 ? (
            <NoProperties isFiltered={filters.size > 0} />
          ) : (
            <Selectable actions={(hotels) => <ReportLinks of={hotels} range={rangeOf(nights)} />}>
              <Portfolio answer={answer} />
            </Selectable>
          )
        }
      </Answered>
    </Page>
  );
}

function NoProperties({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No property matches">Codes, names and cities are searched for each word.</Empty>
  ) : (
    <Empty title="No properties yet">
      A property appears with the first accepted record that names it. The partner's client needs a grant for
      its codes.
    </Empty>
  );
}

/** Paints a click before rendering the rows that it changes. */
function Portfolio({ answer }: { answer: PortfolioAnswer }) {
  return <Rows answer={useDeferredValue(answer)} />;
}

const Rows = memo(function Rows({ answer }: { answer: PortfolioAnswer }) {
  const { items, totals, nights, properties, isCut, nextCursor } = answer;
  const oldest = items.flatMap(({ asOf }) => asOf ?? []).sort()[0];
  const isMixed = totals.filter(({ currency }) => currency !== null).length > 1;
  return (
    <>
      {isCut && (
        <Notice tone="warn" title="There are more properties than one portfolio shows">
          Totals and rows are of the first 5,000 by their codes.
        </Notice>
      )}
      <Table<PortfolioRow>
        caption="Properties, a total of each currency first"
        look="portfolio"
        columns={columnsOf(isMixed, nights)}
        rows={[...totals, ...items]}
        keyOf={(row) => JSON.stringify(isTotal(row) ? [row.currency] : [row.clientCode, row.propertyCode])}
        rowClass={(row) => (isTotal(row) ? "total" : undefined)}
      />
      <p className="small muted">
        {oldest === undefined ? (
          "Figures are being computed."
        ) : (
          <>
            Figures as of <Instant at={oldest} /> or later. Nights and pickup go by each property's business
            day: since yesterday's close, and of 7 days with today. Last year is as of the start of this hour,
            364 days earlier.
          </>
        )}
      </p>
      <Pager
        nextCursor={nextCursor}
        shown={
          properties === items.length
            ? writeMany(properties, "property", "properties")
            : `${writeCount(items.length)} of ${writeMany(properties, "property", "properties")}`
        }
      />
    </>
  );
});
