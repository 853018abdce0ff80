-- What is on the books of each night from $3 to $4 at one instant ($5), by one grouping and by currency: at most $10 rows,
-- after the row ($11, $12, $13, $14, $15). Written for room types and the source clock; the column of another grouping and the
-- other clock are put in their places (src/insight/statement-variants.ts). $6 are the labels that deduct, $7 those that are known and
-- do not, $8 the labels of groups that deduct; $9 is the currency of what names none.
-- Only changes are summed: what a run adds on its first night it takes off after its last, and a running sum over the
-- nights of a cell (a group and currency) is what is there. Nights are laid out at the end, and for shared rooms, which are
-- settled night by night.
-- Plan: bitmap scans of the entries, a hash join with the property's dimensions, one hash aggregate by cell and night for both
-- ends of runs. What is most often nothing (shared, unmapped and unpriced rooms) is summed only where it is something.
with told as materialized (
  select
    dimension,
    room_type_code /* by */ as unit,
    coalesce(currency_code, $9) as currency,
    (status = any ($6::text[])) is true as deducts,
    (status = any ($7::text[])) is true as is_off,
    (status = any ($8::text[])) is true as holds
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2
),
cell as materialized (
  select unit, currency, row_number() over (order by unit, currency) as cell
  from (select distinct unit, currency from told where holds or not is_off) as named
),
kind as materialized (
  select dimension, cell, deducts, is_off, holds
  from told
  -- Written so that it can be hashed.
  join cell
    on coalesce(told.unit, '') = coalesce(cell.unit, '') and (told.unit is null) = (cell.unit is null)
    and coalesce(told.currency, '') = coalesce(cell.currency, '') and (told.currency is null) = (cell.currency is null)
  where holds or not is_off
),
change_of_all as (
  select
    cell, coalesce(first_night, end_night) as night, case when end_night is null then 1 else -1 end as sign,
    coalesce(sum(rooms) filter (where deducts), 0) as rooms,
    coalesce(sum(rooms) filter (where deducts and share_id is not null), 0) as shared_rooms,
    coalesce(sum(rooms) filter (where not deducts), 0) as unmapped_rooms,
    coalesce(sum(adults) filter (where deducts), 0) as adults,
    coalesce(sum(children) filter (where deducts), 0) as children,
    sum(room_revenue) filter (where deducts) as room_revenue,
    sum(gross_room_revenue) filter (where deducts) as gross_room_revenue,
    coalesce(sum(rooms) filter (where deducts and room_revenue is null), 0) as unpriced_rooms,
    coalesce(sum(rooms) filter (where deducts and gross_room_revenue is null), 0) as gross_unpriced_rooms
  from (
    select
      kind.cell, kind.deducts, greatest(entry.first_night, $3::date) as first_night,
      entry.first_night + entry.nights as end_night,
      entry.rooms, entry.adults, entry.children, entry.room_revenue, entry.gross_room_revenue, entry.share_id
    from (/* part: entries-of-nights */) as entry
    join kind on kind.dimension = entry.dimension and not kind.is_off
    where entry.source_time /* clock */ <= $5
  ) as run
  group by grouping sets ((cell, first_night), (cell, end_night))
),
shared_entry as materialized (
  select * from (/* part: shared-entries */) as entry where source_time /* clock */ <= $5
),
place_of_kind as (/* part: places-of-kinds */),
sharer_night as (
  select share_id, sharer, cell, place, first_night + passed as night, sum(rooms) as rooms
  from shared_entry
  join place_of_kind using (dimension)
  join kind using (dimension)
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  where kind.deducts
  group by share_id, sharer, cell, place, first_night + passed
  having sum(rooms) <> 0
),
shared_room as (/* part: settled-shares by night */),
block_change as (
  select key, dimension, night, sum(blocks) as blocks
  from (
    select key, dimension, greatest(first_night, $3::date) as night, coalesce(blocks, 0) - coalesce(picked_up, 0) as blocks
    from bellhop_state.block_entry as t
    where property_id = $2 /* and its bucket */ and (nights <= 31 and first_night >= $3::date - 30 or nights > 31)
      and first_night <= $4::date and first_night + nights > $3::date and source_time /* clock */ <= $5
    union all
    select key, dimension, first_night + nights, coalesce(picked_up, 0) - coalesce(blocks, 0)
    from bellhop_state.block_entry as t
    where property_id = $2 /* and its bucket */ and (nights <= 31 and first_night >= $3::date - 30 or nights > 31)
      and first_night <= $4::date and first_night + nights between $3::date + 1 and $4::date and source_time /* clock */ <= $5
  ) as ends
  group by key, dimension, night
),
held as (
  select
    kind.cell, night,
    lead(night, 1, $4::date + 1) over held_so_far as end_night,
    greatest(sum(blocks) over held_so_far, 0) as blocks
  from block_change join kind on kind.dimension = block_change.dimension and kind.holds
  window held_so_far as (partition by key, block_change.dimension order by night)
),
change as (
  select cell, night, sign * (rooms - shared_rooms) as rooms, sign * unmapped_rooms as unmapped_rooms,
    sign * adults as adults, sign * children as children,
    sign * room_revenue as room_revenue, sign * gross_room_revenue as gross_room_revenue,
    sign * (rooms - unpriced_rooms) as priced_rooms, sign * (rooms - gross_unpriced_rooms) as gross_priced_rooms, 0 as blocks
  from change_of_all where night <= $4::date
  union all
  select cell, night, rooms, 0, 0, 0, null, null, 0, 0, 0 from shared_room
  union all
  select cell, night + 1, -rooms, 0, 0, 0, null, null, 0, 0, 0 from shared_room
  union all
  select cell, night, 0, 0, 0, 0, null, null, 0, 0, blocks from held
  union all
  select cell, end_night, 0, 0, 0, 0, null, null, 0, 0, -blocks from held
),
stretch as (
  select
    cell, night, lead(night, 1, $4::date + 1) over passed as end_night,
    sum(rooms) over passed as rooms, sum(unmapped_rooms) over passed as unmapped_rooms,
    sum(adults) over passed as adults, sum(children) over passed as children,
    sum(room_revenue) over passed as room_revenue, sum(gross_room_revenue) over passed as gross_room_revenue,
    sum(priced_rooms) over passed as priced_rooms, sum(gross_priced_rooms) over passed as gross_priced_rooms,
    sum(blocks) over passed as blocks
  from change
  -- The last of the rows of one night, in whatever order they come, has them all; the others have no night of their own.
  window passed as (partition by cell order by night rows unbounded preceding)
)
select
  (night + passed)::text as night, unit, currency, rooms::text, unmapped_rooms::text, adults::text, children::text,
  case when priced_rooms <> 0 or room_revenue <> 0 then room_revenue::text end as room_revenue,
  case when gross_priced_rooms <> 0 or gross_room_revenue <> 0 then gross_room_revenue::text end as gross_room_revenue,
  blocks::text
from stretch
join cell using (cell)
cross join lateral generate_series(0, end_night - night - 1) as passed
where end_night > night
  and (rooms <> 0 or unmapped_rooms <> 0 or adults <> 0 or children <> 0 or blocks <> 0 or room_revenue <> 0
    or gross_room_revenue <> 0)
  and (night + passed, unit is null, coalesce(unit, ''), currency is null, coalesce(currency, ''))
    > ($11::date, $12::boolean, $13::text collate "C", $14::boolean, $15::text collate "C")
order by night + passed, cell
limit $10
