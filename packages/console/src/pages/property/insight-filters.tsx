import type { ReactNode } from "react";
import type { PropertyCodes } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { readInstant } from "../../field/format.ts";
import { addDays, daysBetween, isAskedDate, isStayDate } from "../../field/stay-date.ts";
import { AddressChoice, AddressFilter, TextFilter } from "../../parts/field.tsx";
import { useFilters } from "../../routing/filters.ts";

/** More than two years: what no page shows at once. */
const NIGHTS_MAX = 800;

/** A range of stay dates, `to` included. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

/** The range of the address, or the default; one that runs backwards is its first date, a longer one ends with its 800th. */
export function useRange(fallback: Range): Range {
  const { filters } = useFilters();
  const told = (name: keyof Range) => {
    const text = filters.get(name) ?? "";
    return isStayDate(text) ? text : undefined;
  };
  const from = told("from") ?? fallback.from;
  const to = told("to") ?? (daysBetween(from, fallback.to) >= 0 ? fallback.to : from);
  if (daysBetween(from, to) < 0) return { from, to: from };
  // An address may hold millennia; a page that made them all would stand still.
  return daysBetween(from, to) < NIGHTS_MAX ? { from, to } : { from, to: addDays(from, NIGHTS_MAX - 1) };
}

/** The instant of the address, as the service takes it. */
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

/**
 * Where a property's insight is asked for, of these nights, at the instant and from the row that the address has; null until
 * the property is known. `more` is what else a page asks by.
 */
export function useInsightAddress(
  name: string,
  codes: PropertyCodes | undefined,
  range: Range,
  more: Readonly<Record<string, string | number | undefined>>,
): string | null {
  const { filters } = useFilters();
  const point = usePointInTime();
  if (codes === undefined) return null;
  const cursor = filters.get("cursor") ?? undefined;
  return addressOf(`insight/${name}`, { ...codes, ...range, ...point, cursor, ...more });
}

/** From and to, and what else a page asks by. */
export function InsightFilters({
  range,
  children,
}: {
  readonly range: Range;
  readonly children?: ReactNode;
}) {
  const { change } = useFilters();
  return (
    <search className="filters">
      <TextFilter
        label="From night"
        type="date"
        first
        value={range.from}
        check={(text) => (isAskedDate(text) ? undefined : "A date")}
        onChange={(from) => change({ from, to: range.to < from ? from : range.to }, "replace")}
      />
      <TextFilter
        label="To night"
        type="date"
        value={range.to}
        check={(text) => (isAskedDate(text) && text >= range.from ? undefined : "From its first night on")}
        onChange={(to) => change({ from: range.from, to }, "replace")}
      />
      {children}
    </search>
  );
}

/** The clock of the address: the sender's, or that of the receipt. */
export function ClockFilter() {
  return <AddressChoice name="clock" label="Clock" options={{ source: "Sender's", receipt: "Receipt" }} />;
}

/** As of when, and by which clock. */
export function PointInTimeFilters() {
  return (
    <>
      <AddressFilter
        name="asOf"
        label="As of"
        placeholder="now"
        check={(text) =>
          readInstant(text) === undefined ? "Like 2026-03-14 or 2026-03-14 09:30" : undefined
        }
      />
      <ClockFilter />
    </>
  );
}

const textOf = (instant: string) => instant.replace("T", " ").replace("Z", "");

interface WatermarkProps {
  readonly watermark: string | null | undefined;
  readonly knownFrom?: string | undefined;
}

/** What an answer at a point in time can be relied on for. */
export function Watermark({ watermark, knownFrom }: WatermarkProps) {
  return (
    <>
      {typeof watermark === "string" && (
        <p className="small muted">
          Complete up to {textOf(watermark)} UTC of receipt: at or before it this answer never changes.
        </p>
      )}
      {knownFrom !== undefined && (
        <p className="small muted">
          Old versions are deleted after their retention: inventory from before {textOf(knownFrom)} UTC that
          was replaced since may be missing here.
        </p>
      )}
    </>
  );
}
