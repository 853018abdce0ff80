import type { ReportFigure } from "../../../contract/src/report-figures.ts";
import type { DailyReportItem, PortfolioReportItem } from "../contract.ts";
import { isDecimal, subtractMoney } from "./format.ts";

/** A row of the report of one hotel or of several. */
export type ReportRow = DailyReportItem & Partial<PortfolioReportItem>;

/** A year beside this one: as known at the same time then, or when it was over. */
export type Year = "lastYear" | "lastYearFinal";

/** A figure; null: not known. */
export type Value = number | string | null;

/** The rows of two sides for one period; null: that side has none, or does not know it. */
export interface Pair {
  readonly row: ReportRow;
  readonly sides: readonly [ReportRow | null, ReportRow | null];
}

/** Last year's figures of a row, in the place of its own. Of a final year there is no inventory. */
export function ofYear(row: ReportRow, year: Year): ReportRow | null {
  const isFinal = year === "lastYearFinal";
  const rooms = isFinal ? row.lastYearFinalRooms : row.lastYearRooms;
  if (rooms === null) return null;
  return {
    ...row,
    rooms,
    roomRevenue: isFinal ? row.lastYearFinalRoomRevenue : row.lastYearRoomRevenue,
    adr: isFinal ? row.lastYearFinalAdr : row.lastYearAdr,
    occupancy: isFinal ? null : row.lastYearOccupancy,
    revpar: isFinal ? null : row.lastYearRevpar,
  };
}

/** The rows of two hotels by period, and by currency where one of them has several. */
export function pairsOf(one: readonly ReportRow[], other: readonly ReportRow[]): Pair[] {
  const [ones, others] = [byPeriod(one), byPeriod(other)];
  return [...new Set([...ones.keys(), ...others.keys()])]
    .sort()
    .flatMap((date) => pairsOfPeriod(ones.get(date) ?? [], others.get(date) ?? []));
}

const byPeriod = (rows: readonly ReportRow[]) => Map.groupBy(rows, ({ stayDate }) => stayDate);

function pairsOfPeriod(one: readonly ReportRow[], other: readonly ReportRow[]): Pair[] {
  const pairOf = (left: ReportRow | null, right: ReportRow | null): Pair[] => {
    const row = left ?? right;
    return row === null ? [] : [{ row, sides: [left, right] }];
  };
  if (one.length <= 1 && other.length <= 1) return pairOf(one[0] ?? null, other[0] ?? null);
  const inCurrency = (rows: readonly ReportRow[], currency: string | null) =>
    rows.find((row) => row.currency === currency) ?? null;
  return [...new Set([...one, ...other].map(({ currency }) => currency))].flatMap((currency) =>
    pairOf(inCurrency(one, currency), inCurrency(other, currency)),
  );
}

/** The first less the second; null if one is not known, or of amounts in different currencies. */
export function differenceOf(
  { sides: [one, other] }: Pair,
  { kind, of }: Pick<ReportFigure, "kind" | "of">,
): Value {
  if (one === null || other === null || (kind === "money" && one.currency !== other.currency)) return null;
  const [left, right] = [of(one), of(other)];
  if (left === null || right === null) return null;
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [from, less] = [String(left), String(right)];
  return isDecimal(from) && isDecimal(less) ? subtractMoney(from, less) : null;
}
