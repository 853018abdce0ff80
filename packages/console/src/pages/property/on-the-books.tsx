import type { OnTheBooksAnswer, OnTheBooksItem, PropertyCodes } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeMany } from "../../field/format.ts";
import { addDays, today } from "../../field/stay-date.ts";
import { AddressSelect } from "../../parts/field.tsx";
import { CsvButton, Pager } from "../../parts/list.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  InsightFilters,
  PointInTimeFilters,
  type Range,
  useInsightAddress,
  usePointInTime,
  useRange,
  Watermark,
} from "./insight-filters.tsx";
import { MeasureFilters, useMeasure } from "./measure.tsx";
import { type NightRows, NightsChart, nightRows, YEAR_DAYS } from "./nights-chart.tsx";
import { type Grouping, NightsTable, withoutBareRows } from "./nights-table.tsx";
import { PropertyPage, useCodes } from "./property-page.tsx";

const NIGHTS_SHOWN = 35;
const LIMIT = 1000;
const GROUPINGS: readonly (readonly [by: Grouping | "", text: string])[] = [
  ["", "whole nights"],
  ["roomType", "room type"],
  ["bookedRoomType", "booked room type"],
  ["marketSegment", "market segment"],
  ["rateCode", "rate code"],
  ["channel", "channel"],
  ["group", "group"],
];

/** What is reserved for each night, as known now or at any instant. */
export function OnTheBooksPage() {
  const range = useRange({ from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) });
  const codes = useCodes();
  const { filters } = useFilters();
  const address = useInsightAddress("on-the-books", codes, range, {
    by: filters.get("by") ?? undefined,
    limit: LIMIT,
  });
  const asked = useAnswer<OnTheBooksAnswer>(address);
  const lastYear = useLastYear(codes, range);
  const by = groupingOf(filters);
  const items = asked.data?.items ?? [];
  const rows = withoutBareRows(items, by);
  const { measure } = useMeasure(items);
  return (
    <PropertyPage
      title="On the books"
      lead="What is reserved for each night, as known now or at any instant of either clock."
      actions={<CsvButton name={`on-the-books-${range.from}`} address={address} />}
    >
      {(known) => (
        <>
          <InsightFilters range={range}>
            <AddressSelect name="by" label="By" options={GROUPINGS} />
            <PointInTimeFilters />
            <MeasureFilters items={items} />
          </InsightFilters>
          <Answered asked={asked} lines={14}>
            {({ nextCursor, watermark, knownFrom }) =>
              items.every(isNothing) ? (
                <Empty title="Nothing is on the books for these nights">
                  No reservation that deducts has them, and no inventory was sent for them. Try another range,
                  or another “as of”.
                </Empty>
              ) : (
                <>
                  <NightsChart
                    rows={nightRows(items, { isFirst: !filters.has("cursor"), isLast: nextCursor === null })}
                    {...{ lastYear, range, measure }}
                  />
                  <NightsTable items={rows} by={by} codes={known} />
                  <Pager nextCursor={nextCursor} shown={writeMany(rows.length, "row")} />
                  <Watermark watermark={watermark} knownFrom={knownFrom} />
                </>
              )
            }
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

/** The same nights a year before, as they were known the same time ago; whole nights, whatever the rows are told apart by. */
function useLastYear(codes: PropertyCodes | undefined, range: Range): NightRows | undefined {
  const { asOf, clock } = usePointInTime();
  // To the hour, so that a page that is looked at does not ask for it again and again.
  const instant = asOf ?? `${new Date().toISOString().slice(0, 13)}:00:00Z`;
  const address =
    codes === undefined
      ? null
      : addressOf("insight/on-the-books", {
          ...codes,
          from: addDays(range.from, -YEAR_DAYS),
          to: addDays(range.to, -YEAR_DAYS),
          asOf: `${addDays(instant.slice(0, 10), -YEAR_DAYS)}${instant.slice(10)}`,
          clock,
          limit: LIMIT,
        });
  const { data } = useAnswer<OnTheBooksAnswer>(address);
  return data && nightRows(data.items, { isFirst: true, isLast: data.nextCursor === null });
}

function isNothing({ rooms, capacity }: OnTheBooksItem): boolean {
  return rooms === 0 && capacity === null;
}

function groupingOf(filters: URLSearchParams): Grouping | undefined {
  const found = GROUPINGS.find(([by]) => by !== "" && by === filters.get("by"))?.[0];
  return found === "" ? undefined : found;
}
