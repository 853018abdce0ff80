import type pg from "pg";
import type { BinaryFields } from "./binary-fields.ts";
import { ArrayParameter, type ElementType } from "./binary-fields.ts";
import { copyItems } from "./copy.ts";
import { isDistributed, oneBucketOf, type Placed } from "./distribution.ts";
import type { Queryable } from "./transaction.ts";

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
export async function writeItems<Item extends Placed>(
  client: pg.ClientBase,
  into: WrittenTable,
  items: readonly Item[],
  add: (rows: RowWriter, item: Item) => void,
): Promise<void> {
  if (items.length === 0) return;
  if (!(await isDistributed(client))) {
    await copyItems(client, { table: into.table, columns: Object.keys(into.columns) }, items, add);
    return;
  }
  const bucket = oneBucketOf(items);
  for (let at = 0; at < items.length; at += ROWS_A_STATEMENT) {
    const slice = items.slice(at, at + ROWS_A_STATEMENT);
    const rows = new ColumnRows(Object.values(into.columns), slice.length);
    for (const item of slice) add(rows.writer, item);
    await client.query({
      name: `insert-${into.table}`,
      text: insertOfBucket(into, "arrays"),
      values: [...rows.finish(), bucket],
    });
  }
}

/** Whether a column of written rows may be an array: on Citus rows are written by arrays of their columns. */
export async function takesArrays(on: Queryable): Promise<boolean> {
  return !(await isDistributed(on));
}

/** Rows by the names of their columns. */
export interface InsertedTable extends WrittenTable {
  /** Leaves alone what is there already. */
  readonly skipsExisting?: boolean;
}

/** Inserts a few rows by one statement. On Citus they lie in one bucket. */
export async function insertRows(
  client: Queryable,
  into: InsertedTable,
  rows: readonly { readonly bucket: number }[],
): Promise<void> {
  if (rows.length === 0) return;
  const values: unknown[] = [JSON.stringify(rows)];
  let text = insertText(into);
  if (await isDistributed(client)) {
    values.push(oneBucketOf(rows));
    text = insertOfBucket(into, "json");
  }
  const conflict = into.skipsExisting === true ? " on conflict do nothing" : "";
  await client.query({ name: `write-${into.table}`, text: `${text}${conflict}`, values });
}

function insertText({ table, columns }: WrittenTable): string {
  const names = Object.keys(columns).join(", ");
  return `insert into ${table} (${names}) select ${names} from json_to_recordset($1::json) as sent (${typed(columns)})`;
}

const typed = (columns: WrittenTable["columns"]): string =>
  Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ");

/** Made from the bucket's own row, so that Citus hands the statement whole to the worker. The bucket is the last parameter. */
function insertOfBucket({ table, columns }: WrittenTable, from: "arrays" | "json"): string {
  const names = Object.keys(columns);
  const selected = names.map((name) => (name === "bucket" ? "home.bucket" : `sent.${name}`));
  const arrays = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
  const sent =
    from === "json"
      ? `json_to_recordset($1::json) as sent (${typed(columns)})`
      : `unnest(${arrays.join(", ")}) as sent (${names.join(", ")})`;
  return `insert into ${table} (${names.join(", ")})
    select ${selected.join(", ")}
    from bellhop.bucket_lease as home
    cross join ${sent}
    where home.bucket = $${from === "json" ? 2 : names.length + 1}`;
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
