-- Whether the valid versions of the groups in $4, at $6 as received up to $7, report pickup and original blocks of the nights $3 and room
-- types $5. Plan: a backward index scan of group_version's key for each group.
with version as materialized (
  select named.key, newest.facts_source_time, newest.content_hash
  from (select distinct unnest($4::text[]) as key) as named
  cross join lateral (
    select facts_source_time, content_hash
    from bellhop_state.group_version as known
    where known.bucket = $1 and known.property_id = $2 and known.key = named.key
      and known.source_time <= $6 and known.request_id < analytics.first_request_id_after($7)
    order by known.source_time desc, known.request_id desc, known.record_index desc
    limit 1
  ) as newest
),
block as materialized (
  select version.key, given.night, given.room_type_code, bool_or(given.pickup is not null) as pickup,
    bool_or(given.original_blocks is not null) as original_blocks
  from version
  join analytics.stored_group_version as facts
    on facts.bucket = $1 and facts.property_id = $2 and facts.key = version.key
    and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
  cross join lateral unnest(facts.occupancy_date, facts.room_type_code, facts.pickup, facts.original_blocks)
    as given (night, room_type_code, pickup, original_blocks)
  group by version.key, given.night, given.room_type_code
)
select wanted.at::integer as at, block.pickup, block.original_blocks as "originalBlocks"
from unnest($3::date[], $4::text[], $5::text[]) with ordinality as wanted (night, key, room_type_code, at)
join block using (night, key, room_type_code)
