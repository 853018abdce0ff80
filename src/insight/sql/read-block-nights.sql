-- Blocks of group masters from night $3 to $4, by group, status and room type, with a source time up to $5, received up to $6; at most $11
-- rows.
-- $7 and $8: groups and their cutoff dates, in business days that end $10 minutes after midnight in time zone $9. Rooms released after the
-- cutoff are all later reductions in any status, except the night's first entry.
with entry as (
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
),
cutoff as (
  select key, ((day + 1)::timestamp + make_interval(mins => $10)) at time zone $9 as passed_at
  from unnest($7::text[], $8::date[]) as named (key, day)
),
change as (
  select
    entry.first_night + passed as night, entry.key, kind.status, kind.room_type_code, entry.blocks, entry.picked_up, entry.original_blocks,
    entry.source_time >= cutoff.passed_at
      and entry.source_time > min(entry.source_time) over (partition by entry.key, entry.first_night + passed) as is_after_cutoff
  from entry
  join bellhop_state.night_dimension as kind
    on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension
  left join cutoff on cutoff.key = entry.key
  cross join lateral generate_series(0, entry.end_night - entry.first_night - 1) as passed
),
-- Values that entries reported and later withdrew are unknown, not 0.
block as (
  select
    night, key, status, room_type_code, coalesce(sum(blocks), 0) as blocks,
    case
      when sum(picked_up) <> 0 or sum(blocks) filter (where picked_up is not null) <> 0 or bool_and(picked_up is not null)
      then sum(picked_up)
    end as picked_up,
    case
      when sum(original_blocks) <> 0 or sum(blocks) filter (where original_blocks is not null) <> 0 or bool_and(original_blocks is not null)
      then sum(original_blocks)
    end as original_blocks,
    -coalesce(sum(sum(blocks) filter (where is_after_cutoff)) over (partition by night, key, room_type_code), 0) as released
  from change
  group by night, key, status, room_type_code
)
-- At most one status of a group has values for a night; if all rooms were released, one row of any status is returned.
select distinct on (block.night, key, room_type_code)
  night::text as night, key as "group", status, room_type_code as "roomType", blocks::float8 as blocks,
  case when is_any then picked_up::float8 end as "pickedUp", case when is_any then original_blocks::float8 end as "originalBlocks",
  released::float8 as "releasedAfterCutoff"
from block
cross join lateral (values (blocks <> 0 or picked_up <> 0 or original_blocks <> 0)) as held (is_any)
where is_any or released <> 0
order by block.night, key, room_type_code, is_any desc nulls last
limit $11
