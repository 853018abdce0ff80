import type { Series } from "../../charts/chart-props.ts";
import { writeMany, writeMoney } from "../../field/format.ts";
import { AddressChoice, AddressSelect } from "../../parts/field.tsx";
import { useFilters } from "../../routing/filters.ts";

/** What a chart of nights shows. Money of one currency: money of several cannot be added. */
export type Measure = { readonly of: "rooms" } | { readonly of: "revenue"; readonly currency: string };

/** Of the y axis. */
export function unitOf(measure: Measure): string {
  return measure.of === "rooms" ? "Rooms" : `Room revenue, ${measure.currency}`;
}

/** Decimal texts, one for each place on the x axis (null: not known): drawn by numbers, told by the texts that they were. */
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

interface Priced {
  readonly currency: string | null;
}

/** The currencies of an answer, the one with the most rows first. */
function currenciesOf(items: readonly Priced[]): readonly string[] {
  const rows = new Map<string, number>();
  for (const { currency } of items) if (currency !== null) rows.set(currency, (rows.get(currency) ?? 0) + 1);
  return [...rows].toSorted(([, one], [, other]) => other - one).map(([currency]) => currency);
}

/** The measure of the address, and the currencies that it could be in; rooms where nothing has a price. */
export function useMeasure(items: readonly Priced[]): {
  readonly measure: Measure;
  readonly currencies: readonly string[];
} {
  const { filters } = useFilters();
  const currencies = currenciesOf(items);
  const told = filters.get("currency");
  const currency = currencies.find((each) => each === told) ?? currencies[0];
  const measure: Measure =
    filters.get("show") === "revenue" && currency !== undefined
      ? { of: "revenue", currency }
      : { of: "rooms" };
  return { measure, currencies };
}

/** Rooms or revenue, and the currency where there are several; the table keeps its page. */
export function MeasureFilters({ items }: { readonly items: readonly Priced[] }) {
  const { measure, currencies } = useMeasure(items);
  return (
    <>
      <AddressChoice name="show" label="Chart" keepsPage options={{ rooms: "Rooms", revenue: "Revenue" }} />
      {measure.of === "revenue" && currencies.length > 1 ? (
        <AddressSelect
          name="currency"
          label="Currency"
          keepsPage
          options={currencies.map((currency) => [currency, currency] as const)}
        />
      ) : null}
    </>
  );
}
