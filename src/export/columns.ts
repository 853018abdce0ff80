import { textOfMoney } from "#contract/money.ts";

/**
 * The type of a column and, by it, how a batch holds its values: `date` as days since 1970-01-01, `timestamp` as ISO 8601 with
 * microseconds, `amount` as whole ten-thousandths.
 */
export type ColumnType = "text" | "integer" | "date" | "timestamp" | "amount";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly isNullable: boolean;
}

export type Value = string | number | null;

const DAY_MS = 86_400_000;
const dates = new Map<number, string>();

/** `2026-01-31` of days since 1970-01-01. */
function dateOf(day: number): string {
  let text = dates.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    dates.set(day, text);
  }
  return text;
}

/** A value as CSV and JSON state it. */
export function plainValue(type: ColumnType, value: Value): Value {
  if (typeof value !== "number") return value;
  if (type === "date") return dateOf(value);
  return type === "amount" ? textOfMoney(value) : value;
}

/** Rows of a row group: readers skip row groups by their statistics, and a batch of so many nights takes some 50 MB. */
const ROWS_MAX = 100_000;
/** Characters of long texts in a batch at most, so that memory does not depend on the size of records. */
const CHARACTERS_MAX = 16_777_216;

/** Rows by column; `flush` takes and empties them when there are enough. */
export class Batch {
  readonly values: readonly Value[][];
  readonly #flush: (batch: Batch) => void;
  #characters = 0;

  constructor(columns: readonly Column[], flush: (batch: Batch) => void) {
    this.values = columns.map(() => []);
    this.#flush = flush;
  }

  get rows(): number {
    return this.values[0]?.length ?? 0;
  }

  /** Ends rows whose values have been added to `values`. `characters`: of their long texts. */
  endRows(characters = 0): void {
    this.#characters += characters;
    if (this.rows >= ROWS_MAX || this.#characters >= CHARACTERS_MAX) this.flush();
  }

  flush(): void {
    if (this.rows === 0) return;
    this.#flush(this);
    this.#characters = 0;
    for (const column of this.values) column.length = 0;
  }
}
