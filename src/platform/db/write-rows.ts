import type pg from "pg";
import { ArrayParameter, type ElementType } from "./array-parameter.ts";
import type { BinaryFields } from "./binary-fields.ts";
import { copyItems } from "./copy-in.ts";
import { isDistributed, oneBucketOf } from "./distribution.ts";

/** What one item's row is written by: `row` begins it, then one field after another in the order of the columns. */
export interface RowWriter
  extends Pick<
    BinaryFields,
    | "null"
    | "boolean"
    | "smallint"
    | "integer"
    | "bigint"
    | "letter"
    | "uuid"
    | "hex"
    | "text"
    | "written"
    | "date"
    | "timestamp"
    | "wide"
    | "numeric"
    | "day"
    | "microseconds"
  > {
  row(): void;
}

/** A table and the columns that are written, with their types; one of them is `bucket`. */
export interface WrittenTable {
  readonly table: string;
  readonly columns: Readonly<Record<string, ElementType>>;
}

/** Bounds what one statement carries: some hundred bytes a row. */
const ROWS_A_STATEMENT = 1_000;

/**
 * Writes a row of each item. By COPY; where the tables are distributed, by arrays, made into rows by the worker that has
 * their one bucket: Citus would take a COPY for a transaction in two phases, and pass a worker's error on without its SQLSTATE.
 */
export async function writeItems<Item>(
  client: pg.ClientBase,
  into: WrittenTable,
  items: readonly Item[],
  bucketOf: (item: Item) => { readonly bucket: number },
  add: (rows: RowWriter, item: Item) => void,
): Promise<void> {
  if (items.length === 0) return;
  if (!(await isDistributed(client))) {
    await copyItems(client, { table: into.table, columns: Object.keys(into.columns) }, items, add);
    return;
  }
  const bucket = oneBucketOf(items.map(bucketOf));
  for (let at = 0; at < items.length; at += ROWS_A_STATEMENT) {
    const slice = items.slice(at, at + ROWS_A_STATEMENT);
    const rows = new ColumnRows(Object.values(into.columns), slice.length);
    for (const item of slice) add(rows.writer, item);
    await client.query({
      name: `insert-${into.table}`,
      text: insertText(into),
      values: [...rows.finish(), bucket],
    });
  }
}

function insertText({ table, columns }: WrittenTable): string {
  const names = Object.keys(columns);
  const selected = names.map((name) => (name === "bucket" ? "home.bucket" : `sent.${name}`));
  const arrays = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
  return `insert into ${table} (${names.join(", ")})
    select ${selected.join(", ")}
    from bellhop.bucket_lease as home
    cross join unnest(${arrays.join(", ")}) as sent (${names.join(", ")})
    where home.bucket = $${names.length + 1}`;
}

/** Rows as one array a column. */
class ColumnRows {
  readonly #columns: readonly ArrayParameter[];
  #at = 0;
  readonly writer: RowWriter;

  constructor(types: readonly ElementType[], rows: number) {
    this.#columns = types.map((type) => new ArrayParameter(type, rows));
    const column = () => this.#columns[this.#at++] as ArrayParameter;
    this.writer = {
      row: () => {
        this.#at = 0;
      },
      null: () => column().null(),
      boolean: (value) => column().boolean(value),
      smallint: (value) => column().smallint(value),
      integer: (value) => column().integer(value),
      bigint: (value) => column().bigint(value),
      letter: (value) => column().letter(value),
      uuid: (value) => column().uuid(value),
      hex: (digits) => column().hex(digits),
      text: (value) => column().text(value),
      written: (text) => column().written(text),
      date: (value) => column().date(value),
      timestamp: (value) => column().timestamp(value),
      wide: (high, low) => column().wide(high, low),
      numeric: (value) => column().numeric(value),
      day: (days) => column().day(days),
      microseconds: (value) => column().microseconds(value),
    };
  }

  finish(): Buffer[] {
    return this.#columns.map((column) => column.finish());
  }
}
