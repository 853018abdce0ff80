import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { ROW_SUM, type RowSum } from "./digest-rows.ts";

const CODES = `dimension.status, dimension.room_type_code, dimension.booked_room_type_code, dimension.market_segment_code,
  dimension.group_block_code, dimension.rate_code, dimension.channel, dimension.currency_code`;

const RUNS = readStatement(new URL("../ledger/sql/runs-of-exchange.sql", import.meta.url)).text;

interface Ledger {
  /** The entries of a schema, as rows of its table; those of nights are runs of exchanges, too. */
  readonly entriesOf: (schema: string) => string;
  /** What entries are about beside their dimension, and what they count, as sums of `sign`. */
  readonly about: string;
  readonly sums: readonly string[];
}

const NIGHT_COLUMNS = `source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket,
  room_revenue, gross_room_revenue, key, share_id`;

/**
 * The entries of nights in a schema (its name is one of ours), however they were written: all of them, or those of which a condition
 * is true that asks for columns which both tables have.
 */
export const nightEntriesOf = (schema: string, condition = "true"): string =>
  `(select ${NIGHT_COLUMNS} from ${schema}.night_entry where ${condition} union all
    select * from (with exchange as (select * from ${schema}.night_exchange where ${condition}) ${RUNS}) as run)`;

const NIGHTS: Ledger = {
  entriesOf: (schema) => nightEntriesOf(schema),
  about: "key, share_id",
  sums: ["rooms", "adults", "children", "room_revenue", "gross_room_revenue"],
};
const BLOCKS: Ledger = {
  entriesOf: (schema) => `${schema}.block_entry`,
  about: "key",
  sums: ["blocks", "picked_up", "original_blocks"],
};

/**
 * What begins (and, signed, ends) at each date, with both clocks; what sums up to nothing is left out. So it does not matter
 * into how many entries a change was parted, nor in which order they were made.
 */
function edges(schema: string, { entriesOf, about, sums }: Ledger): string {
  const sumOf = (column: string) => `coalesce(sum(sign * ${column}), 0)`;
  const columns = `bucket, property_id, dimension, ${about}, source_time, received_at`;
  const edge = (date: string, sign: string) =>
    `select ${columns}, ${date} as date, ${sign} as sign, ${sums.join(", ")} from ${entriesOf(schema)} as entry`;
  return `
    select edge.bucket, edge.property_id, edge.date, edge.source_time, edge.received_at, ${about}, ${CODES},
      ${sums.map((column) => `trim_scale(${sumOf(column)}::numeric) as ${column}`).join(", ")}
    from (${edge("first_night", "1")} union all ${edge("first_night + nights", "-1")}) as edge
    join ${schema}.night_dimension as dimension
      on dimension.bucket = edge.bucket and dimension.property_id = edge.property_id
      and dimension.dimension = edge.dimension
    group by edge.bucket, edge.property_id, edge.date, edge.source_time, edge.received_at, ${about}, ${CODES}
    having ${sums.map((column) => `${sumOf(column)} <> 0`).join(" or ")}`;
}

async function digest(client: pg.ClientBase, schema: string, ledger: Ledger): Promise<RowSum> {
  const { rows } = await client.query<RowSum>(
    `select ${ROW_SUM("row(edge.*)::text")} from (${edges(schema, ledger)}) as edge`,
  );
  return rows[0] ?? { count: 0, hash: "" };
}

/** Digests the stay-night ledger of a state schema (its name is one of ours): nights of reservations, and of blocks. */
export async function digestLedger(
  client: pg.ClientBase,
  schema: string,
): Promise<{ readonly nights: RowSum; readonly blocks: RowSum }> {
  return { nights: await digest(client, schema, NIGHTS), blocks: await digest(client, schema, BLOCKS) };
}
