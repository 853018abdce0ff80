-- Rooms of reservations on the books from night $3 to $4, by room type and group, with a source time up to $5, received up to $6, in the
-- statuses $7; at most $8 rows. Sums only changes and expands nights at the end, except shared rooms, which are settled per night.
with kind as materialized (
  select
    dimension, room_type_code, group_block_code, dense_rank() over (order by room_type_code, group_block_code) as cell
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status = any ($7::text[]) and coalesce(cause = 'posted', true)
),
run as materialized (
  select
    kind.cell, entry.rooms, greatest(entry.first_night, $3::date) as first_night,
    least(entry.first_night + entry.nights, $4::date + 1) as end_night
  from ({../../platform/db/analytics/sql/entries-of-nights}) as entry
  join kind using (dimension)
  where entry.bucket = $1 and entry.share_id is null and entry.source_time <= $5 and entry.received_at <= $6
),
shared_entry as materialized (
  select * from ({parts/shared-entries}) as entry where source_time <= $5 and received_at <= $6
),
place_of_kind as ({parts/places-of-kinds}),
sharer_night as (
  select share_id, sharer, cell, place, first_night + passed as night, sum(rooms) as rooms
  from shared_entry
  join place_of_kind using (dimension)
  join kind using (dimension)
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by share_id, sharer, cell, place, first_night + passed
  having sum(rooms) <> 0
),
shared_room as ({parts/settled-shares}),
change as (
  select cell, first_night as night, sum(rooms) as rooms from run group by cell, first_night
  union all
  select cell, end_night, -sum(rooms) from run where end_night <= $4::date group by cell, end_night
  union all
  select cell, night, rooms from shared_room
  union all
  select cell, night + 1, -rooms from shared_room where night < $4::date
),
-- One row per cell and night, so that each stretch starts with all changes of its night.
changed as (
  select cell, night, sum(rooms) as rooms from change group by cell, night
),
stretch as (
  select cell, night, lead(night, 1, $4::date + 1) over passed as end_night, sum(rooms) over passed as rooms
  from changed
  window passed as (partition by cell order by night)
)
select (stretch.night + passed)::text as night, reported.room_type_code as room_type, reported.group_block_code as block_group,
  stretch.rooms::float8 as rooms
from stretch
join (select distinct cell, room_type_code, group_block_code from kind) as reported using (cell)
cross join lateral generate_series(0, stretch.end_night - stretch.night - 1) as passed
where stretch.rooms <> 0
order by stretch.night + passed, cell
limit $8
