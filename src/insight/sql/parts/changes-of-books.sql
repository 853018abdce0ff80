-- Changes of the nights from $3 to $4 up to $5, by grouping, currency (default $9) and cause. Statuses: $6 deduct, $7 are mapped and do not,
-- $8 are group statuses that deduct. The running sum of a cell's changes is its state; only shared rooms are expanded per night. Plan: bitmap
-- scans of the entries, a hash join with the dimensions, one hash aggregate for both ends of runs.
entry as materialized (
  select
    dimension, share_id, greatest(first_night, $3::date) as first_night, first_night + nights as end_night, rooms, adults, children,
    room_revenue, gross_room_revenue
  from ({../../../platform/db/analytics/sql/entries-of-nights}) as stored
  where {time} <= $5
),
shared_entry as materialized (
  select * from ({shared-entries}) as entry where {time} <= $5
),
block_change as materialized (
  select key, dimension, night, sum(blocks) as blocks, sum(picked_up) as picked_up
  from (
    select key, dimension, greatest(first_night, $3::date) as night, coalesce(blocks, 0)::bigint as blocks,
      coalesce(picked_up, 0)::bigint as picked_up
    from bellhop_state.block_entry as t
    where property_id = $2 {and-bucket} and (nights <= 31 and first_night >= $3::date - 30 or nights > 31)
      and first_night <= $4::date and first_night + nights > $3::date and {time} <= $5
    union all
    select key, dimension, first_night + nights, -coalesce(blocks, 0)::bigint, -coalesce(picked_up, 0)::bigint
    from bellhop_state.block_entry as t
    where property_id = $2 {and-bucket} and (nights <= 31 and first_night >= $3::date - 30 or nights > 31)
      and first_night <= $4::date and first_night + nights between $3::date + 1 and $4::date and {time} <= $5
  ) as ends
  group by key, dimension, night
),
reported as materialized (
  select
    dimension,
    {unit} as unit,
    coalesce(currency_code, $9) as currency,
    cause,
    (status = any ($6::text[])) is true as deducts,
    (status = any ($7::text[])) is true as is_off,
    (status = any ($8::text[])) is true as holds
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and dimension = any (array(
    select dimension from entry union select dimension from shared_entry union select dimension from block_change
  ))
),
kind as materialized (
  select
    dimension, dense_rank() over (order by unit, currency, cause) as cell, unit, currency, cause, deducts, is_unmapped,
    deducts or cause = 'fee' as has_money, holds
  from (
    select dimension, unit, currency, {cause-of-kind} as cause, deducts, holds,
      not deducts and not is_off and coalesce(cause = 'posted', true) as is_unmapped
    from reported
  ) as named
  where holds or deducts or is_unmapped or cause = 'fee'
),
cell as (
  select distinct cell, unit, currency, cause from kind
),
change_of_all as (
  select
    cell, coalesce(first_night, end_night) as night, case when end_night is null then 1 else -1 end as sign,
    coalesce(sum(rooms) filter (where deducts), 0) as rooms,
    coalesce(sum(rooms) filter (where deducts and share_id is not null), 0) as shared_rooms,
    coalesce(sum(rooms) filter (where is_unmapped and share_id is null), 0) as unmapped_rooms,
    coalesce(sum(adults) filter (where deducts), 0) as adults,
    coalesce(sum(children) filter (where deducts), 0) as children,
    sum(room_revenue) filter (where has_money) as room_revenue,
    sum(gross_room_revenue) filter (where deducts) as gross_room_revenue,
    coalesce(sum(rooms) filter (where deducts and room_revenue is null), 0) as unpriced_rooms,
    coalesce(sum(rooms) filter (where deducts and gross_room_revenue is null), 0) as gross_unpriced_rooms
  from entry join kind using (dimension)
  where is_unmapped or has_money
  group by grouping sets ((cell, first_night), (cell, end_night))
),
place_of_kind as ({places-of-kinds}),
sharer_night as (
  -- Nights on the books, unmapped ones and day use are settled apart.
  select
    case when is_unmapped then 'u' when cause is null then 'n' else 'd' end || share_id as share_id, sharer, cell, place,
    first_night + passed as night, sum(rooms) as rooms
  from shared_entry
  join place_of_kind using (dimension)
  join kind using (dimension)
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  where kind.deducts or kind.is_unmapped
  group by 1, sharer, cell, place, first_night + passed
  having sum(rooms) <> 0
),
shared_room as ({settled-shares}),
-- The blocks of subgroups are carved out of those of their master in the same room type (src/insight/group-hierarchy.ts).
block_of_type as (
  select block_change.*, kind.cell, link.master, type.room_type_code
  from block_change
  join kind on kind.dimension = block_change.dimension and kind.holds
  join bellhop_state.night_dimension as type
    on type.bucket = $1 and type.property_id = $2 and type.dimension = block_change.dimension
  left join {links} as link (subgroup, master) on link.subgroup = key
),
master_type as (
  select key, room_type_code, min(dimension) as dimension
  from block_of_type where key in (select master from block_of_type)
  group by key, room_type_code
),
own_block as (
  select key, dimension, cell, night, blocks, picked_up from block_of_type
  union all
  select master_type.key, master_type.dimension, kind.cell, part.night, -part.blocks, -part.picked_up
  from block_of_type as part
  join master_type on master_type.key = part.master and master_type.room_type_code = part.room_type_code
  join kind on kind.dimension = master_type.dimension
),
own_change as (
  select key, dimension, cell, night, sum(blocks) as blocks, sum(picked_up) as picked_up
  from own_block group by key, dimension, cell, night
),
held as (
  select
    cell, night,
    lead(night, 1, $4::date + 1) over held_so_far as end_night,
    greatest(greatest(sum(blocks) over held_so_far, 0) - greatest(sum(picked_up) over held_so_far, 0), 0) as blocks
  from own_change
  window held_so_far as (partition by key, dimension order by night)
),
change as (
  select cell, night, sign * (rooms - shared_rooms) as rooms, sign * unmapped_rooms as unmapped_rooms,
    sign * adults as adults, sign * children as children,
    sign * room_revenue as room_revenue, sign * gross_room_revenue as gross_room_revenue,
    sign * (rooms - unpriced_rooms) as priced_rooms, sign * (rooms - gross_unpriced_rooms) as gross_priced_rooms, 0 as blocks
  from change_of_all where night <= $4::date
  union all
  select cell, edge.night, case when share_id like 'u%' then 0 else sign * rooms end,
    case when share_id like 'u%' then sign * rooms else 0 end, 0, 0, null, null, 0, 0, 0
  from shared_room cross join lateral (values (night, 1), (night + 1, -1)) as edge (night, sign)
  where edge.night <= $4::date
  union all
  select cell, night, 0, 0, 0, 0, null, null, 0, 0, blocks from held
  union all
  select cell, end_night, 0, 0, 0, 0, null, null, 0, 0, -blocks from held where end_night <= $4::date
)
