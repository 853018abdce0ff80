import type { OnTheBooksAnswer, OnTheBooksItem } from "../../contract.ts";
import { useAnswer } from "../../data/use-answer.ts";
import { writeMany } from "../../field/amounts.ts";
import { addDays, today } from "../../field/stay-date.ts";
import { CsvButton } from "../../parts/export-button.tsx";
import { SelectField } from "../../parts/field.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { useFilters } from "../../routing/address.ts";
import {
  InsightFilters,
  PointInTimeFilters,
  useInsightAddress,
  useRange,
  Watermark,
} from "./insight-filters.tsx";
import { NightsChart } from "./nights-chart.tsx";
import { type Grouping, NightsTable } from "./nights-table.tsx";
import { PropertyPage, useCodes } from "./property-page.tsx";

const NIGHTS_SHOWN = 35;
const LIMIT = 1000;
const GROUPINGS: readonly (readonly [by: Grouping | "", text: string])[] = [
  ["", "nothing: whole nights"],
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
  const { filters, change } = useFilters();
  const address = useInsightAddress("on-the-books", codes, range, {
    by: filters.get("by") ?? undefined,
    limit: LIMIT,
  });
  const asked = useAnswer<OnTheBooksAnswer>(address);
  const by = groupingOf(filters);
  return (
    <PropertyPage
      title="On the books"
      lead="What is reserved for each night, as known now or at any instant of either clock."
      actions={<CsvButton name={`on-the-books-${range.from}`} address={address} />}
    >
      {(known) => (
        <>
          <InsightFilters range={range}>
            <SelectField
              label="By"
              value={by ?? ""}
              options={GROUPINGS}
              onChange={(next) => change({ ...range, by: next })}
            />
            <PointInTimeFilters />
          </InsightFilters>
          <Answered asked={asked} lines={14}>
            {({ items, nextCursor, watermark }) =>
              items.every(isNothing) ? (
                <Empty title="Nothing is on the books in these nights">
                  No reservation that deducts falls into them, and no inventory tells of capacity. Another
                  range, or “as of” another instant, may show some.
                </Empty>
              ) : (
                <>
                  <NightsChart items={items} range={range} />
                  <NightsTable items={items} by={by} codes={known} />
                  <Pager nextCursor={nextCursor} shown={writeMany(items.length, "row")} />
                  <Watermark watermark={watermark} />
                </>
              )
            }
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

function isNothing({ rooms, capacity }: OnTheBooksItem): boolean {
  return rooms === 0 && capacity === null;
}

function groupingOf(filters: URLSearchParams): Grouping | undefined {
  const found = GROUPINGS.find(([by]) => by !== "" && by === filters.get("by"))?.[0];
  return found === "" ? undefined : found;
}
