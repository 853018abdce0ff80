import { NightlyChart, STACK_KINDS } from "../../charts/chart.tsx";
import type { OnTheBooksItem } from "../../contract.ts";
import { addDays, addMoney, datesBetween, subtractMoney, writeDate, YEAR_DAYS } from "../../field/format.ts";
import { type Column, Table } from "../../parts/list.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import type { Range } from "../../parts/range.tsx";
import {
  GROUPINGS,
  type Grouping,
  LastYearNote,
  type LastYearRows,
  type NightRows,
  nameOfGroup,
} from "./nights.tsx";
import {
  type Measure,
  measuredSeries,
  NightLink,
  sumBy,
  unitOf,
  writeAmount,
  writeSignedAmount,
} from "./property-page.tsx";

/** The largest groups; the others are combined. */
const GROUPS_SHOWN = STACK_KINDS.length - 1;
const OTHER = "Other";

interface PivotProps {
  readonly rows: NightRows;
  readonly lastYear: LastYearRows;
  readonly by: Grouping;
  readonly range: Range;
  readonly measure: Measure;
}

/** Exact decimal texts by group. */
type Amounts = ReadonlyMap<string, string>;

interface PivotRow {
  readonly head: string;
  /** Undefined: a sum. */
  readonly night?: string;
  readonly amounts: Amounts;
  readonly total: string;
  readonly isChange?: boolean;
}

/** Nights by group: a stacked chart, and a table with last year's sums and changes. Without all rows it shows no sums. */
export function Pivot({ rows: { items, isWhole, isAll }, lastYear, by, range, measure }: PivotProps) {
  const { isWeekend } = usePropertyView();
  const byText = GROUPINGS[by];
  const nights = datesBetween(range.from, range.to);
  const sums = amountsOf(items, by, measure);
  const largest = [...sums]
    .filter(([, amount]) => Number(amount) !== 0)
    .toSorted(([, one], [, other]) => Number(other) - Number(one))
    .map(([name]) => name);
  const shown = largest.slice(0, GROUPS_SHOWN);
  const nameOf = (name: string) => (shown.includes(name) ? name : OTHER);
  const known = isAll && lastYear.isAny ? lastYear.items : undefined;
  const isOtherKnown =
    largest.length > shown.length ||
    [...amountsOf(known ?? [], by, measure)].some(
      ([name, amount]) => Number(amount) !== 0 && !shown.includes(name),
    );
  const names = isOtherKnown ? [...shown, OTHER] : shown;
  const byNight = Map.groupBy(items, ({ stayDate }) => stayDate);
  const rowOf = (head: string, some: readonly OnTheBooksItem[]): PivotRow => {
    const amounts = amountsOf(some, by, measure, nameOf);
    return { head, amounts, total: addMoney([...amounts.values()]) };
  };
  const onPage = nights.filter((night) => isWhole(night) || byNight.has(night));
  const rows = onPage.map((night) => ({
    ...rowOf(`${writeDate(night)}${isWhole(night) ? "" : ", in part"}`, byNight.get(night) ?? []),
    night,
  }));
  const wholeRows = new Map(rows.filter(({ night }) => isWhole(night)).map((row) => [row.night, row]));
  const all = rowOf("Total", items);
  const before = known && rowOf("Last year", known);
  const comparable = items.filter(({ stayDate }) => lastYear.isKnown(addDays(stayDate, -YEAR_DAYS)));
  return (
    <>
      <NightlyChart
        nights={nights}
        label={`${unitOf(measure)} by night and ${byText}, ${writeDate(range.from)} to ${writeDate(range.to)}`}
        unit={unitOf(measure)}
        series={names.map((name, place) =>
          measuredSeries(
            { name, kind: STACK_KINDS[name === OTHER ? GROUPS_SHOWN : place] ?? "stack-0" },
            nights.map((night) => {
              const row = wholeRows.get(night);
              return row === undefined ? null : (row.amounts.get(name) ?? "0");
            }),
            measure,
          ),
        )}
      />
      <Table
        caption={`${unitOf(measure)} by night and ${byText}`}
        narrow="scroll"
        columns={columnsOf(names, measure)}
        rows={[
          ...(isAll ? [all] : []),
          ...(before === undefined ? [] : [before, changeOf(rowOf("", comparable), before, names)]),
          ...rows,
        ]}
        keyOf={({ head }) => head}
        rowClass={({ night }) => (night === undefined ? "total" : isWeekend(night) ? "weekend" : undefined)}
      />
      {isAll && <LastYearNote of={lastYear} range={range} />}
    </>
  );
}

function amountsOf(
  items: readonly OnTheBooksItem[],
  by: Grouping,
  measure: Measure,
  nameOf: (name: string) => string = (name) => name,
): Amounts {
  return sumBy(items, measure, (item) => nameOf(nameOfGroup(item, by)));
}

function changeOf(now: PivotRow, before: PivotRow, names: readonly string[]): PivotRow {
  const less = (name: string) => subtractMoney(now.amounts.get(name) ?? "0", before.amounts.get(name) ?? "0");
  return {
    head: "Change on last year",
    amounts: new Map(names.map((name) => [name, less(name)])),
    total: subtractMoney(now.total, before.total),
    isChange: true,
  };
}

function columnsOf(names: readonly string[], measure: Measure): readonly Column<PivotRow>[] {
  const write = (text: string, isChange = false) => (
    <span className={Number(text) === 0 ? "muted" : undefined}>
      {isChange ? writeSignedAmount(text, measure) : writeAmount(text, measure)}
    </span>
  );
  return [
    {
      head: "Night",
      lead: true,
      cell: ({ head, night }) => (night === undefined ? head : <NightLink night={night}>{head}</NightLink>),
    },
    { head: "Total", end: true, cell: ({ total, isChange }) => write(total, isChange) },
    ...names.map((name) => ({
      head: name,
      end: true,
      cell: ({ amounts, isChange }: PivotRow) => write(amounts.get(name) ?? "0", isChange),
    })),
  ];
}
