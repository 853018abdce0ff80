import { NIGHT_RANGES, type NightRange, nightsOf } from "../../../contract/src/night-ranges.ts";
import { addDays, daysBetween, isAskedDate, isStayDate, writeDay } from "../field/format.ts";
import { useFilters } from "../routing/filters.ts";
import { SelectField, TextFilter } from "./field.tsx";
import { useChip } from "./filters.tsx";
import { usePropertyView } from "./property-view.tsx";

const NIGHTS_MAX = 800;

export interface Range {
  readonly from: string;
  readonly to: string;
}

/** The name of the range in the address, which moves on with the business day. */
function rangeIn(filters: URLSearchParams): NightRange | undefined {
  if (filters.has("from") || filters.has("to")) return undefined;
  return NIGHT_RANGES.find((name) => name === filters.get("range"));
}

/** The range in the address, at most 800 nights, or the default. */
export function useRange(standard: Range): Range {
  const { filters } = useFilters();
  const { today } = usePropertyView();
  const named = rangeIn(filters);
  const fallback = named === undefined ? standard : nightsOf(named, today);
  const given = (name: keyof Range) => {
    const text = filters.get(name) ?? "";
    return isStayDate(text) ? text : undefined;
  };
  const from = given("from") ?? fallback.from;
  const to = given("to") ?? (daysBetween(from, fallback.to) >= 0 ? fallback.to : from);
  if (daysBetween(from, to) < 0) return { from, to: from };
  // Millennia of nights would freeze the page.
  return daysBetween(from, to) < NIGHTS_MAX ? { from, to } : { from, to: addDays(from, NIGHTS_MAX - 1) };
}

export function RangeFilters({ range }: { range: Range }) {
  const { filters, change } = useFilters();
  const isGiven = ["from", "to", "range"].some((name) => filters.has(name));
  const nights =
    range.from === range.to ? writeDay(range.from) : `${writeDay(range.from)} – ${writeDay(range.to)}`;
  useChip("Nights", isGiven ? nights : undefined, () =>
    change({ from: undefined, to: undefined, range: undefined }),
  );
  return (
    <>
      <TextFilter
        label="From night"
        type="date"
        first
        value={range.from}
        check={(text) => (isAskedDate(text) ? undefined : "A date")}
        onChange={(from) =>
          change({ from, to: range.to < from ? from : range.to, range: undefined }, "replace")
        }
      />
      <TextFilter
        label="To night"
        type="date"
        value={range.to}
        check={(text) => (isAskedDate(text) && text >= range.from ? undefined : "From its first night on")}
        onChange={(to) => change({ from: range.from, to, range: undefined }, "replace")}
      />
    </>
  );
}

const RANGES: Readonly<Record<NightRange, string>> = {
  next7: "next 7 nights",
  next30: "next 30 nights",
  next90: "next 90 nights",
  thisMonth: "this month",
  nextMonth: "next month",
  last30: "last 30 nights",
};

interface PresetsProps {
  readonly range: Range;
  /** The business day that ranges begin with; by default the property's. */
  readonly begin?: string;
  readonly names?: readonly NightRange[];
}

/** Common ranges of nights. The address has their names, so that links and saved views move on with the business day. */
export function Presets({ range, begin, names = NIGHT_RANGES }: PresetsProps) {
  const { filters, change } = useFilters();
  const { today } = usePropertyView();
  const isShown = (name: NightRange) => {
    const { from, to } = nightsOf(name, begin ?? today);
    return from === range.from && to === range.to;
  };
  const chosen = rangeIn(filters) ?? names.find(isShown) ?? "";
  return (
    <SelectField
      label="Range"
      value={chosen}
      options={[["", "own dates"], ...names.map((name) => [name, RANGES[name]] as const)]}
      onChange={(name) => {
        if (name !== "") change({ range: name, from: undefined, to: undefined });
      }}
    />
  );
}
