import type { PickupAnswer, PickupItem } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswers } from "../../data/queries.ts";
import { writeCount, writeDate, writeMoney, writeSigned } from "../../field/format.ts";
import { addDays, datesBetween, isAskedDate, isStayDate, today } from "../../field/stay-date.ts";
import { AddressSelect, TextFilter } from "../../parts/field.tsx";
import { ExportButton } from "../../parts/list.tsx";
import { Answered } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Disclosure, orDash } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import { HeatMap } from "./heat-map.tsx";
import { ClockFilter, InsightFilters, type Range, useRange } from "./insight-filters.tsx";
import { MeasureFilters, useMeasure } from "./measure.tsx";
import { pickupOf, toRows } from "./pickup-days.ts";
import { PropertyPage, useCodes } from "./property-page.tsx";

const NIGHTS_SHOWN = 28;
const DAY_COUNTS = [
  ["7", "7 days"],
  ["14", "14 days"],
  ["28", "28 days"],
] as const;

/** What a day brought of a night in one currency. */
interface Movement extends PickupItem {
  readonly day: string;
}

const COLUMNS: readonly Column<Movement>[] = [
  { head: "Day", lead: true, cell: ({ day }) => <span className="nowrap">{writeDate(day)}</span> },
  { head: "Night", cell: ({ stayDate }) => <span className="nowrap">{writeDate(stayDate)}</span> },
  { head: "Booked", end: true, cell: ({ booked }) => writeCount(booked) },
  { head: "Cancelled", end: true, cell: ({ cancelled }) => writeCount(cancelled) },
  { head: "Rooms", end: true, cell: ({ rooms }) => writeSigned(rooms) },
  {
    head: "Room revenue",
    end: true,
    cell: ({ roomRevenue }) => orDash(roomRevenue, (text) => writeMoney(text, true)),
  },
  { head: "Currency", cell: ({ currency }) => orDash(currency) },
];

/** Rooms or revenue booked and cancelled, by the day of the change and the night. */
export function PickupPage() {
  const range = useRange({ from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) });
  const { until, count, clock } = usePickupFilters();
  const codes = useCodes();
  const days = datesBetween(addDays(until, 1 - Number(count)), until).toReversed();
  const addresses =
    codes === undefined
      ? []
      : days.map((day) =>
          addressOf("insight/pickup", {
            ...codes,
            ...range,
            clock,
            since: `${addDays(day, -1)}T23:59:59.999999Z`,
            asOf: `${day}T23:59:59.999999Z`,
            limit: 1000,
          }),
        );
  const asked = useAnswers<PickupAnswer>(addresses);
  const itemsOf = (place: number) => asked.data?.[place]?.items ?? [];
  const movements = days.flatMap((day, place) => itemsOf(place).map((item): Movement => ({ day, ...item })));
  const { measure } = useMeasure(movements);
  const pickup = days.map((day, place) => pickupOf(day, itemsOf(place), measure));
  const nights = datesBetween(range.from, range.to);
  const unit = measure.of === "rooms" ? "rooms" : measure.currency;
  return (
    <PropertyPage
      title="Pickup"
      lead="Rooms booked less rooms cancelled, by the day of the change (down) and the night (across)."
      actions={<ExportButton name={`pickup-${unit}-${until}`} rows={() => toRows(pickup, nights)} />}
    >
      {() => (
        <>
          <PickupFilters range={range} movements={movements} />
          <Answered asked={asked} lines={14}>
            {() => (
              <>
                <HeatMap days={pickup} nights={nights} measure={measure} />
                {movements.length === 0 ? null : <Movements movements={movements} />}
              </>
            )}
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

/** The days of the address: how many, until which, and by whose clock. */
function usePickupFilters(): {
  readonly until: string;
  readonly count: (typeof DAY_COUNTS)[number][0];
  readonly clock: "receipt" | undefined;
} {
  const { filters } = useFilters();
  const told = filters.get("until") ?? "";
  return {
    until: isStayDate(told) ? told : today(),
    count: DAY_COUNTS.find(([days]) => days === filters.get("days"))?.[0] ?? "14",
    clock: filters.get("clock") === "receipt" ? "receipt" : undefined,
  };
}

interface PickupFiltersProps {
  readonly range: Range;
  readonly movements: readonly Movement[];
}

function PickupFilters({ range, movements }: PickupFiltersProps) {
  const { change } = useFilters();
  const { until } = usePickupFilters();
  return (
    <InsightFilters range={range}>
      <TextFilter
        label="Until day"
        type="date"
        value={until}
        check={(text) => (isAskedDate(text) ? undefined : "A date")}
        onChange={(next) => change({ until: next }, "replace")}
      />
      <AddressSelect name="days" label="Days" standard="14" options={DAY_COUNTS} />
      <ClockFilter />
      <MeasureFilters items={movements} />
    </InsightFilters>
  );
}

function Movements({ movements }: { readonly movements: readonly Movement[] }) {
  return (
    <Disclosure summary="The figures as a table">
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
