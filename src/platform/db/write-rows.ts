import type pg from "pg";
import { ArrayParameter, type BinaryFields, type ElementType } from "./binary-fields.ts";
import { copyItems } from "./copy.ts";
import { isDistributed, oneBucketOf, type Placed } from "./distribution.ts";
import type { Queryable } from "./transaction.ts";

/** Writes the value of a column. */
type Write<Item> = (to: BinaryFields, item: Item) => void;

/** Columns with their types and how an item's value is written; one of them is `bucket`. */
export type Columns<Item> = Readonly<Record<string, readonly [type: ElementType, write: Write<Item>]>>;

/** A table and the columns that are written, with their types; one of them is `bucket`. */
interface WrittenTable {
  readonly table: string;
  readonly columns: Readonly<Record<string, ElementType>>;
}

/** The value of each item as an array, which is one column of a statement's rows. */
export function column<Item>(items: readonly Item[], type: ElementType, write: Write<Item>): Buffer {
  const parameter = new ArrayParameter(type, items.length);
  for (const item of items) write(parameter, item);
  return parameter.finish();
}

/** Bounds what one statement carries: some hundred bytes a row. */
const ROWS_A_STATEMENT = 1_000;

/**
 * Writes a row of each item. By COPY; where the tables are distributed, by arrays, made into rows by the worker that has
 * their one bucket: Citus would take a COPY for a transaction in two phases, and pass a worker's error on without its SQLSTATE.
 */
export async function writeItems<Item extends Placed>(
  client: pg.ClientBase,
  table: string,
  columns: Columns<Item>,
  items: readonly Item[],
): Promise<void> {
  if (items.length === 0) return;
  const written = Object.values(columns);
  if (!(await isDistributed(client))) {
    await copyItems(client, { table, columns: Object.keys(columns) }, items, (rows, item) => {
      rows.row();
      for (const [, write] of written) write(rows, item);
    });
    return;
  }
  const types = Object.fromEntries(Object.entries(columns).map(([name, [type]]) => [name, type]));
  const text = insertOfBucket({ table, columns: types }, "arrays");
  for (let at = 0; at < items.length; at += ROWS_A_STATEMENT) {
    const slice = items.slice(at, at + ROWS_A_STATEMENT);
    const values = written.map(([type, write]) => column(slice, type, write));
    await client.query({ name: `insert-${table}`, text, values: [...values, oneBucketOf(items)] });
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
