import { textOfMoney } from "#contract/money.ts";

/**
 * The type of a column, which determines a batch's values: `date` as days since 1970-01-01, `timestamp` as ISO 8601 with microseconds,
 * `amount` as whole ten-thousandths.
 */
export type ColumnType = "text" | "boolean" | "integer" | "date" | "timestamp" | "amount";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly isNullable: boolean;
}

export type Value = string | number | boolean | null;

const DAY_MS = 86_400_000;
const dates = new Map<number, string>();

/** The ISO date of days since 1970-01-01. */
function dateOf(day: number): string {
  let text = dates.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    dates.set(day, text);
  }
  return text;
}

/** A value as written in CSV and JSON. */
export function plainValue(type: ColumnType, value: Value): Value {
  if (typeof value !== "number") return value;
  if (type === "date") return dateOf(value);
  return type === "amount" ? textOfMoney(value) : value;
}

/** Rows per row group, which readers skip by statistics; a batch of this many nights takes about 50 MB. */
const ROWS_MAX = 100_000;
/** Maximum characters of a batch's texts, so that memory does not depend on them. JSON writes up to six for one, in one string of at most 536,870,888. */
const CHARACTERS_MAX = 16_777_216;

export const charactersOf = (values: readonly Value[]): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);

/** Rows by column; `flush` consumes and clears them at the limit. */
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

  /** Completes rows whose values have been added to `values`. `characters`: the length of their texts. */
  endRows(characters: number): void {
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
