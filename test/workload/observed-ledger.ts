import type pg from "pg";
import { nightEntriesOf } from "../../src/apply/state/state-schema.ts";

/** Entries laid out by night, with the names of their property and dimension; for tests, as it takes a row a night. */
const ENTERED_NIGHTS = `
  select property.client_code, property.property_code, entry.key, entry.source_time, entry.share_id,
    (entry.first_night + night.number)::date as night, dimension.status, dimension.room_type_code,
    dimension.booked_room_type_code, dimension.market_segment_code, dimension.group_block_code, dimension.rate_code,
    dimension.channel, dimension.currency_code,
    case when cause = 'posted' then null when cause = 'dayUsePosted' then 'dayUse' else cause end as cause, entry.rooms, entry.adults, entry.children, entry.room_revenue,
    entry.gross_room_revenue
  from ${nightEntriesOf("bellhop_state")} as entry
  join bellhop_state.night_dimension as dimension using (bucket, property_id, dimension)
  join bellhop.property as property on property.property_id = entry.property_id
  cross join lateral generate_series(0, entry.nights - 1) as night (number)`;
const ENTERED_BLOCKS = `
  select property.client_code, property.property_code, entry.key, entry.source_time,
    (entry.first_night + night.number)::date as night, dimension.status, dimension.room_type_code,
    dimension.currency_code, entry.blocks, entry.picked_up, entry.original_blocks
  from bellhop_state.block_entry as entry
  join bellhop_state.night_dimension as dimension using (bucket, property_id, dimension)
  join bellhop.property as property on property.property_id = entry.property_id
  cross join lateral generate_series(0, entry.nights - 1) as night (number)`;

const CODES = `status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
    currency_code`;
const NIGHT_SUMS = ["rooms", "adults", "children", "room_revenue", "gross_room_revenue"];
const BLOCK_SUMS = ["blocks", "picked_up", "original_blocks"];

/** Rows that are grouped by all columns but their sums, what sums up to nothing left out. */
function summed(from: string, by: string, sums: readonly string[]): string {
  const sumOf = (column: string) => `trim_scale(coalesce(sum(${column}), 0)::numeric)`;
  return `select ${by}, ${sums.map((column) => `${sumOf(column)} as ${column}`).join(", ")}
    from (${from}) as entered group by ${by}
    having ${sums.map((column) => `${sumOf(column)} <> 0`).join(" or ")}`;
}

/** What analysts' views say of the nights of current records, in the columns of the ledger. */
const CURRENT_NIGHTS = `
  select client_code, property_code, reservation_id as key, occupancy_date as night, ${CODES}, null as cause, rooms, adults, children,
    room_revenue, gross_room_revenue
  from analytics.stay_night
  union all
  select client_code, property_code, reservation_id, occupancy_date, ${CODES}, cause, rooms, 0, 0, room_revenue, null
  from analytics.revenue_without_night`;

const CURRENT_BLOCKS = `
  select client_code, property_code, group_code as key, occupancy_date as night, status, room_type_code, currency_code,
    blocks, pickup as picked_up, original_blocks
  from analytics.group_block_night`;

function differing(entered: string, current: string): string {
  return `with entered as (${entered}), current as (${current})
    (select 'not in the current state' as which, row(entered.*)::text as row from (table entered except all table current) as entered)
    union all
    (select 'not in the ledger', row(current.*)::text from (table current except all table entered) as current)
    limit 10`;
}

/** Nights in which the sums of the ledger are not what current records say: none, or what is wrong (ten rows at most each). */
export async function ledgerProblems(pool: pg.Pool): Promise<string[]> {
  const nightsBy = `client_code, property_code, key, night, ${CODES}, cause`;
  const blocksBy = "client_code, property_code, key, night, status, room_type_code, currency_code";
  const problems: string[] = [];
  // Freshly filled tables have no statistics, and the joins would be nested loops.
  await pool.query("analyze");
  for (const statement of [
    differing(summed(ENTERED_NIGHTS, nightsBy, NIGHT_SUMS), summed(CURRENT_NIGHTS, nightsBy, NIGHT_SUMS)),
    differing(summed(ENTERED_BLOCKS, blocksBy, BLOCK_SUMS), summed(CURRENT_BLOCKS, blocksBy, BLOCK_SUMS)),
  ]) {
    const { rows } = await pool.query<{ which: string; row: string }>(statement);
    problems.push(...rows.map(({ which, row }) => `a night of the ledger is ${which}: ${row}`));
  }
  const { rows } = await pool.query<{ row: string }>(DIFFERENTLY_KNOWN);
  problems.push(
    ...rows.map(({ row }) => `the first times of a property are not those of its ledger: ${row}`),
  );
  return problems;
}

const DIFFERENTLY_KNOWN = `
  select row(known.*, entered.*)::text as row
  from bellhop_state.known_books as known
  full join (
    select property_id, min(source_time) as source_time, min(received_at) as received_at, min(first_night) as first_night
    from ${nightEntriesOf("bellhop_state")} as entry
    group by property_id
  ) as entered using (property_id)
  where known.source_time is distinct from entered.source_time or known.received_at is distinct from entered.received_at
    or known.departure <= entered.first_night`;

/** The ledger by the clock of source times, as a text that depends on neither receipts nor how changes were parted. */
export async function digestLedgerBySource(pool: pg.Pool): Promise<string> {
  const digests: string[] = [];
  for (const [from, about, sums] of [
    [ENTERED_NIGHTS, `share_id, channel, ${CODES}, cause`, NIGHT_SUMS],
    [ENTERED_BLOCKS, "status, room_type_code, currency_code", BLOCK_SUMS],
  ] as const) {
    const { rows } = await pool.query<{ digest: string }>(
      `select concat_ws(' ', count(*), 'changes', sum(hashtextextended(row(change.*)::text, 1)),
        sum(hashtextextended(row(change.*)::text, 2))) as digest
      from (${summed(from, `client_code, property_code, key, night, source_time, ${about}`, sums)}) as change`,
    );
    digests.push(rows[0]?.digest ?? "");
  }
  const { rows: known } = await pool.query<{ property: string }>(
    `select concat_ws(' ', client_code, property_code, departure, source_time) as property
    from bellhop_state.known_books join bellhop.property using (property_id) order by 1`,
  );
  return [...digests, ...known.map(({ property }) => property)].join(" / ");
}
