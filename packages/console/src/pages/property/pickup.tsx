import { Link } from "wouter";
import type { PickupAnswer, PickupItem, PropertyCodes } from "../../contract.ts";
import { addressOf, askWhole, useAnswers } from "../../data/queries.ts";
import {
  addDays,
  addMoney,
  datesBetween,
  isAskedDate,
  isStayDate,
  propertyPath,
  writeCount,
  writeDate,
  writeDay,
  writeMany,
  writeShort,
  writeSigned,
  writeSignedMoney,
  writeWeekday,
} from "../../field/format.ts";
import { AddressSelect, TextFilter } from "../../parts/field.tsx";
import { useChip } from "../../parts/filters.tsx";
import { type Column, ExportButtons, figure, Scroll, Table } from "../../parts/list.tsx";
import { Answered, Empty, Figures } from "../../parts/page.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import { type Range, useRange } from "../../parts/range.tsx";
import { Disclosure, orDash, Word } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import { MovedReservations } from "./moved.tsx";
import {
  ClockFilter,
  CutNotice,
  InsightFilters,
  type Measure,
  MeasureFilters,
  ofProperty,
  PropertyPage,
  pickupName,
  ROWS_MAX,
  sumBy,
  useMeasure,
  usePointInTime,
  writeSignedAmount,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 30;
const DAY_COUNTS = [
  ["1", "1 day"],
  ["3", "3 days"],
  ["7", "7 days"],
  ["14", "14 days"],
  ["30", "30 days"],
] as const;

/** One day's pickup for a night in one currency. */
interface Movement extends PickupItem {
  readonly day: string;
}

const COLUMNS: readonly Column<Movement>[] = [
  { head: "Day", lead: true, cell: ({ day }) => <Word>{writeDate(day)}</Word> },
  { head: "Night", cell: ({ stayDate }) => <Word>{writeDate(stayDate)}</Word> },
  figure("Booked", ({ booked }) => booked, writeCount),
  figure("Cancelled", ({ cancelled }) => cancelled, writeCount),
  figure("Rooms", ({ rooms }) => rooms, writeSigned),
  figure("Room revenue", ({ roomRevenue }) => roomRevenue, writeSignedMoney),
  { head: "Currency", cell: ({ currency }) => orDash(currency) },
];

const CSV = "day stayDate booked cancelled rooms roomRevenue grossRoomRevenue currency";

export const PickupPage = ofProperty(function Pickup({ codes }) {
  const { today, ownTimeZone, businessDayEnd } = usePropertyView();
  const range = useRange({ from: today, to: addDays(today, NIGHTS_SHOWN - 1) });
  const { until, count } = usePickupFilters();
  const { clock } = usePointInTime();
  const days = datesBetween(addDays(until, 1 - Number(count)), until).toReversed();
  const addresses = days.map((day) =>
    addressOf("insight/pickup", {
      ...codes,
      ...range,
      clock,
      day,
      limit: ROWS_MAX,
    }),
  );
  const asked = useAnswers<PickupAnswer>(addresses, askWhole);
  const byDay = days.map((day, place) => ({ day, items: asked.data?.[place]?.items ?? [] }));
  const movements = byDay.flatMap(({ day, items }) => items.map((item): Movement => ({ day, ...item })));
  const { measure } = useMeasure(movements);
  const pickup = pickupTable(byDay, datesBetween(range.from, range.to), measure);
  return (
    <PropertyPage
      codes={codes}
      title="Pickup"
      lead={`${measure.of === "rooms" ? "Rooms" : "Room revenue"} booked minus cancelled, by the business day of the change (down) and the night (across). Business days end at ${businessDayEnd} in ${ownTimeZone}.`}
      actions={<ExportButtons name={`pickup-${until}`} csv={CSV} of={movements} />}
    >
      <PickupFilters range={range} movements={movements} />
      <Answered asked={asked} lines={14}>
        {(answers) => (
          <>
            <CutNotice nextCursor={answers.find(({ nextCursor }) => nextCursor !== null)?.nextCursor} />
            <Figures figures={recentFigures(pickup, measure, until, today)} />
            <HeatMap table={pickup} measure={measure} codes={codes} />
            <OneNight codes={codes} range={range} answers={answers} />
            {movements.length !== 0 && <Movements movements={movements} />}
          </>
        )}
      </Answered>
    </PropertyPage>
  );
});

interface OneNightProps {
  readonly codes: PropertyCodes;
  readonly range: Range;
  /** The newest day first. */
  readonly answers: readonly PickupAnswer[];
}

/** The reservations behind the pickup of a single night. */
function OneNight({ codes, range: { from, to }, answers }: OneNightProps) {
  const since = answers.at(-1)?.since;
  if (from !== to || since === undefined) return null;
  return <MovedReservations codes={codes} night={from} since={since} until={answers[0]?.until ?? null} />;
}

function usePickupFilters() {
  const { filters } = useFilters();
  const { today } = usePropertyView();
  const given = filters.get("until") ?? "";
  return {
    until: isStayDate(given) ? given : today,
    count: DAY_COUNTS.find(([days]) => days === filters.get("days"))?.[0] ?? "14",
  };
}

function PickupFilters({ range, movements }: { range: Range; movements: readonly Movement[] }) {
  return (
    <InsightFilters range={range}>
      <UntilFilter />
      <AddressSelect name="days" label="Days" standard="14" options={DAY_COUNTS} />
      <ClockFilter />
      <MeasureFilters items={movements} />
    </InsightFilters>
  );
}

function UntilFilter() {
  const { filters, change } = useFilters();
  const { until } = usePickupFilters();
  useChip("Until day", filters.has("until") ? writeDate(until) : undefined, () =>
    change({ until: undefined }),
  );
  return (
    <TextFilter
      label="Until day"
      type="date"
      value={until}
      check={(text) => (isAskedDate(text) ? undefined : "A date")}
      onChange={(next) => change({ until: next }, "replace")}
    />
  );
}

function Movements({ movements }: { movements: readonly Movement[] }) {
  return (
    <Disclosure summary="View as table">
      <Table
        caption="Pickup by day, night and currency"
        narrow="scroll"
        columns={COLUMNS}
        rows={movements}
        keyOf={({ day, stayDate, currency }) => `${day} ${stayDate} ${currency}`}
      />
    </Disclosure>
  );
}

/** Exact decimal texts by night, and their sum. */
interface PickupRow {
  readonly head: string;
  readonly amounts: readonly string[];
  readonly sum: string;
}

/** Amounts by day (rows) and night (columns). */
interface PickupTable {
  readonly nights: readonly string[];
  readonly days: readonly PickupRow[];
  readonly total: PickupRow;
}

function pickupTable(
  byDay: readonly { readonly day: string; readonly items: readonly PickupItem[] }[],
  nights: readonly string[],
  measure: Measure,
): PickupTable {
  const rowOf = (head: string, amounts: readonly string[]) => ({ head, amounts, sum: addMoney(amounts) });
  const days = byDay.map(({ day, items }) => {
    const sums = sumBy(items, measure, ({ stayDate }) => stayDate);
    const amounts = nights.map((night) => sums.get(night) ?? "0");
    return rowOf(`${writeWeekday(day)} ${writeDay(day)}`, amounts);
  });
  const all = nights.map((_, at) => addMoney(days.map(({ amounts }) => amounts[at] ?? "0")));
  return { nights, days, total: rowOf("Total", all) };
}

const RECENT_DAYS = [1, 3, 7] as const;

/** The pickup of the last days up to `until`. The table has the newest day first. */
function recentFigures({ days }: PickupTable, measure: Measure, until: string, today: string) {
  const byDay = days.map(({ sum }) => sum);
  const unit = measure.of === "rooms" ? "rooms" : measure.currency;
  return RECENT_DAYS.map((count) => ({
    name: until === today ? pickupName(count) : count === 1 ? "One day" : `${count} days`,
    value: writeSignedAmount(addMoney(byDay.slice(0, count)), measure),
    note: `${unit}, ${count === 1 ? "" : `${writeDay(addDays(until, 1 - count))} to `}${writeDay(until)}`,
  }));
}

interface HeatMapProps {
  readonly table: PickupTable;
  readonly measure: Measure;
  readonly codes: PropertyCodes;
}

/** Darker cells have more pickup. */
function HeatMap({ table: { nights, days, total }, measure, codes }: HeatMapProps) {
  const sizes = days.flatMap(({ amounts }) => amounts.map((amount) => Math.abs(Number(amount))));
  const largest = Math.max(0, ...sizes);
  if (largest === 0) return <NothingMoved measure={measure} />;
  const rowOf = ({ head, amounts, sum }: PickupRow, isTotal = false) => (
    <tr key={head}>
      <th scope="row">{head}</th>
      {nights.map((night, at) => (
        <Cell
          key={night}
          amount={amounts[at] ?? "0"}
          measure={measure}
          largest={isTotal ? undefined : largest}
        />
      ))}
      <td className="sum">{writeSignedAmount(sum, measure)}</td>
    </tr>
  );
  return (
    <>
      <Scroll label="Pickup by day and night">
        <table className="heat" data-of={measure.of}>
          <caption className="unseen">
            {measure.of === "rooms" ? "Rooms" : `Room revenue in ${measure.currency}`} picked up by day and
            night, {writeSignedAmount(total.sum, measure)} in all. Empty cells: no pickup.
          </caption>
          <NightHeads nights={nights} codes={codes} />
          <tbody>{days.map((row) => rowOf(row))}</tbody>
          <tfoot>{rowOf(total, true)}</tfoot>
        </table>
      </Scroll>
      <Legend total={total.sum} largest={largest} measure={measure} />
    </>
  );
}

function NothingMoved({ measure }: { measure: Measure }) {
  const what = measure.of === "rooms" ? "No pickup" : `No revenue in ${measure.currency}`;
  return (
    <Empty title={`${what} in these days`}>
      For these nights. Another range of nights or days may show some.
    </Empty>
  );
}

function NightHeads({ nights, codes }: { nights: readonly string[]; codes: PropertyCodes }) {
  const [from = "", to = ""] = [nights[0], nights.at(-1)];
  const { isWeekend } = usePropertyView();
  return (
    <thead>
      <tr>
        <td />
        {nights.map((night) => (
          <th
            key={night}
            scope="col"
            className={isWeekend(night) ? "weekend" : undefined}
            title={writeDate(night)}
          >
            <Link className="quiet" to={propertyPath("/property/on-the-books", codes, { from, to, night })}>
              {writeWeekday(night).slice(0, 2)}
              <br />
              {Number(night.slice(8))}
              {(night.endsWith("-01") || night === from) && (
                <>
                  <br />
                  {writeDay(night).split(" ")[1]}
                </>
              )}
            </Link>
          </th>
        ))}
        <th scope="col" className="sum">
          All
        </th>
      </tr>
    </thead>
  );
}

interface CellProps {
  readonly amount: string;
  readonly measure: Measure;
  /** Undefined: a sum. */
  readonly largest: number | undefined;
}

/** Shortens money; the title and screen readers have the exact value. */
function Cell({ amount, measure, largest }: CellProps) {
  const value = Number(amount);
  // The heat map leaves cells without pickup empty; sums are always shown.
  const exact = value === 0 && largest !== undefined ? "" : writeSignedAmount(amount, measure);
  const isShort = measure.of === "revenue" && exact !== "";
  return (
    <td
      className={largest === undefined ? "sum" : undefined}
      data-heat={largest === undefined ? undefined : heatOf(value, largest)}
      title={isShort ? `${exact} ${measure.currency}` : undefined}
    >
      {isShort && <span aria-hidden="true">{writeShort(amount)}</span>}
      {isShort ? <span className="unseen">{exact}</span> : exact}
    </td>
  );
}

/** Five steps up, three down; the smallest change is visible. */
function heatOf(value: number, largest: number): number {
  const share = Math.abs(value) / largest;
  return value > 0 ? Math.ceil(share * 5) : -Math.ceil(share * 3);
}

function Legend({ total, largest, measure }: { total: string; largest: number; measure: Measure }) {
  const isRooms = measure.of === "rooms";
  return (
    <p className="legend">
      <span className="steps">
        <Word>{writeShort(String(-largest))}</Word>
        {[-3, -2, -1, 1, 2, 3, 4, 5].map((step) => (
          <i key={step} data-heat={step} />
        ))}
        <Word>{writeShort(String(largest))}</Word>
      </span>
      <span>
        {isRooms ? roomsInAll(Number(total)) : `${writeSignedMoney(total)} ${measure.currency} in all`}
      </span>
      {isRooms ? null : <span>Cells are rounded; the table below is exact.</span>}
    </p>
  );
}

function roomsInAll(rooms: number): string {
  return rooms < 0 ? `${writeCount(rooms)} rooms in all` : `+${writeMany(rooms, "room")} in all`;
}
