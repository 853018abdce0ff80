-- Group masters' blocks of the nights from $3 to $4, by group, status and room type, with a source time up to $5, received up
-- to $6. $7 and $8: groups and the instants of their cutoffs; rooms released later count apart. At most $9 rows.
select
  (entry.first_night + passed)::text as night, entry.key as "group", kind.status,
  kind.room_type_code as "roomType", coalesce(sum(entry.blocks), 0)::float8 as blocks,
  sum(entry.picked_up)::float8 as "pickedUp", sum(entry.original_blocks)::float8 as "originalBlocks",
  -coalesce(sum(entry.blocks) filter (where entry.source_time >= cutoff.passed_at), 0)::float8 as "releasedAfterCutoff"
from (
  select key, dimension, source_time, blocks, picked_up, original_blocks,
    greatest(first_night, $3::date) as first_night, least(first_night + nights, $4::date + 1) as end_night
  from bellhop_state.block_entry
  where bucket = $1 and property_id = $2 and nights <= 31
    and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
    and source_time <= $5 and received_at <= $6
  union all
  select key, dimension, source_time, blocks, picked_up, original_blocks,
    greatest(first_night, $3::date), least(first_night + nights, $4::date + 1)
  from bellhop_state.block_entry
  where bucket = $1 and property_id = $2 and nights > 31
    and first_night <= $4::date and first_night + nights > $3::date
    and source_time <= $5 and received_at <= $6
) as entry
join bellhop_state.night_dimension as kind
  on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension
left join unnest($7::text[], $8::timestamptz[]) as cutoff (block_group, passed_at) on cutoff.block_group = entry.key
cross join lateral generate_series(0, entry.end_night - entry.first_night - 1) as passed
group by entry.first_night + passed, entry.key, kind.status, kind.room_type_code
having sum(entry.blocks) <> 0 or sum(entry.picked_up) <> 0 or sum(entry.original_blocks) <> 0
order by entry.first_night + passed, entry.key, kind.room_type_code
limit $9
