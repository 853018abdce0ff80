-- The subgroups with blocks from night $3 to $4 and the groups that they name as their master, in the version valid at $5 as received up to
-- $6. Plan: if no group of the property names a master, only a look into group_version_linked.
select known.key as subgroup, facts.master_group_code as master
from (
  select distinct key
  from bellhop_state.block_entry
  where bucket = $1 and property_id = $2 and first_night <= $4::date and first_night + nights > $3::date
    and (nights > 31 or first_night >= $3::date - 30)
    and exists (
      select from bellhop_state.group_version
      where bucket = $1 and property_id = $2 and facts !~ '^\{("([^"\\]|\\.)*"|[^",}]*)(,NULL[,}]|\})'
    )
) as known
cross join lateral (
  select newest.facts_source_time, newest.content_hash
  from bellhop_state.group_version as newest
  where newest.bucket = $1 and newest.property_id = $2 and newest.key = known.key
    and newest.source_time <= $5 and newest.request_id < analytics.first_request_id_after($6)
  order by newest.source_time desc, newest.request_id desc, newest.record_index desc
  limit 1
) as version
join analytics.stored_group_version as facts
  on facts.bucket = $1 and facts.property_id = $2 and facts.key = known.key
  and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
where facts.master_group_code is not null
order by known.key
