import { microsecondTimestamp } from "./calendar.ts";
import { decimalText, integerValue, type Quantity } from "./decimal.ts";

type Scalar = string | number | boolean | null;

/** A typed fact: dates `YYYY-MM-DD`, times ISO 8601 UTC, decimals as exact text, whole numbers as numbers, absent as null. */
export type FactValue = Scalar | readonly Scalar[];

/**
 * The facts of a record under the names of the columns of its version table in the schema `bellhop_state`, less those that
 * all version tables share (status, from_date, to_date are fields of the reading).
 */
export type Facts = Readonly<Record<string, FactValue>>;

/** A text, or null where it is absent. */
export function textFact(value: string | null | undefined): string | null {
  return value ?? null;
}

/** A whole number, or null where it is absent. */
export function integerFact(value: Quantity | undefined): number | null {
  return value === undefined ? null : (integerValue(value) ?? null);
}

/** An exact decimal as text, or null where it is absent. */
export function decimalFact(value: Quantity | undefined): string | null {
  return value === undefined ? null : decimalText(value);
}

/** A time with six fractional digits, or null where it is absent. */
export function timeFact(value: string | null | undefined): string | null {
  return value === undefined || value === null ? null : microsecondTimestamp(value);
}
