-- What is on the books of each night from $3 to $4 at one instant ($5), by one grouping and by currency: at most $10 rows,
-- after the row ($11, $12, $13, $14, $15). Written for room types and the source clock; the column of another grouping and the
-- other clock are put in their places (src/insight/statement-variants.ts). $6 are the labels that deduct, $7 those that are known and
-- do not, $8 the labels of groups that deduct; $9 is the currency of what names none.
-- Only changes are summed: what a run adds on its first night it takes off after its last, and a running sum over the
-- nights of a cell (a group and currency) is what is there. Nights are laid out at the end, and for shared rooms, which are
-- settled night by night: of the sharers of one share the one with the smallest key has the room, as many as the most that
-- any of them has.
-- Plan: bitmap scans of night_entry_short (first nights from $3 - 30 to $4) and of night_entry_long, a hash join with the property's
-- dimensions, one hash aggregate by cell and night for both ends of runs; shared rooms by night_entry_shared. 31,000 entries of a
-- hotel's year by room type, of 10 million: 105-125 ms of CPU on a core whose other thread was busy. Grouping by runs and by
-- texts instead of cells first took 208-225 ms where this took 100.
with kind as materialized (
  select
    dimension,
    dense_rank() over (order by room_type_code /* by */, coalesce(currency_code, $9)) as cell,
    row_number() over (
      order by room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code, channel,
        currency_code, dimension
    ) as place,
    room_type_code /* by */ as unit,
    coalesce(currency_code, $9) as currency,
    (status = any ($6::text[])) is true as deducts,
    (status = any ($7::text[])) is true as is_off,
    (status = any ($8::text[])) is true as holds
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2
),
change_of_own as (
  select
    cell, coalesce(first_night, end_night) as night, case when end_night is null then 1 else -1 end as sign,
    sum(own_rooms) as rooms, sum(unmapped_rooms) as unmapped_rooms, sum(adults) as adults, sum(children) as children,
    sum(room_revenue) as room_revenue, sum(gross_room_revenue) as gross_room_revenue,
    sum(priced_rooms) as priced_rooms, sum(gross_priced_rooms) as gross_priced_rooms
  from (
    select
      kind.cell,
      greatest(entry.first_night, $3::date) as first_night,
      entry.first_night + entry.nights as end_night,
      case when kind.deducts and entry.share_id is null then entry.rooms else 0 end as own_rooms,
      case when kind.deducts then 0 else entry.rooms end as unmapped_rooms,
      case when kind.deducts then entry.adults else 0 end as adults,
      case when kind.deducts then entry.children else 0 end as children,
      case when kind.deducts then entry.room_revenue end as room_revenue,
      case when kind.deducts then entry.gross_room_revenue end as gross_room_revenue,
      case when kind.deducts and entry.room_revenue is not null then entry.rooms else 0 end as priced_rooms,
      case when kind.deducts and entry.gross_room_revenue is not null then entry.rooms else 0 end as gross_priced_rooms
    from (
      select first_night, nights, rooms, adults, children, room_revenue, gross_room_revenue, dimension, share_id
      from bellhop_state.night_entry as t
      where property_id = $2 /* and its bucket */ and nights <= 31
        and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date and source_time /* clock */ <= $5
      union all
      select first_night, nights, rooms, adults, children, room_revenue, gross_room_revenue, dimension, share_id
      from bellhop_state.night_entry as t
      where property_id = $2 /* and its bucket */ and nights > 31
        and first_night <= $4::date and first_night + nights > $3::date and source_time /* clock */ <= $5
    ) as entry
    join kind on kind.dimension = entry.dimension and not kind.is_off
  ) as run
  group by grouping sets ((cell, first_night), (cell, end_night))
),
shared_run as (
  select
    entry.share_id, entry.key, kind.cell, kind.place, entry.rooms,
    greatest(entry.first_night, $3::date) as first_night, least(entry.first_night + entry.nights, $4::date + 1) as end_night
  from bellhop_state.night_entry as entry
  join kind on kind.dimension = entry.dimension and kind.deducts
  where entry.property_id = $2 and entry.bucket = $1 and entry.share_id is not null and entry.first_night <= $4::date
    and entry.first_night + entry.nights > $3::date and source_time /* clock */ <= $5
),
sharer_night as (
  select share_id, key as sharer, cell, place, first_night + passed as night, sum(rooms) as rooms
  from shared_run cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by share_id, key, cell, place, first_night + passed
  having sum(rooms) <> 0
),
sharer as (
  select
    sharer_night.*,
    min(sharer) over (partition by share_id, night) as holder,
    sum(rooms) over (partition by share_id, night, sharer) as named,
    place = min(place) over (partition by share_id, night, sharer) as is_first
  from sharer_night
),
shared_room as (
  select cell, night, rooms + case when is_first then most - named else 0 end as rooms
  from (select sharer.*, max(named) over (partition by share_id, night) as most from sharer) as room
  where sharer = holder
),
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
  select cell, night, sign * rooms as rooms, sign * unmapped_rooms as unmapped_rooms, sign * adults as adults,
    sign * children as children, sign * room_revenue as room_revenue, sign * gross_room_revenue as gross_room_revenue,
    sign * priced_rooms as priced_rooms, sign * gross_priced_rooms as gross_priced_rooms, 0 as blocks
  from change_of_own where night <= $4::date
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
join (select distinct cell, unit, currency from kind) as told using (cell)
cross join lateral generate_series(0, end_night - night - 1) as passed
where end_night > night
  and (rooms <> 0 or unmapped_rooms <> 0 or adults <> 0 or children <> 0 or blocks <> 0 or room_revenue <> 0
    or gross_room_revenue <> 0)
  and (night + passed, unit is null, coalesce(unit, ''), currency is null, coalesce(currency, ''))
    > ($11::date, $12::boolean, $13::text collate "C", $14::boolean, $15::text collate "C")
order by night + passed, cell
limit $10
