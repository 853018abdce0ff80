-- Masters of the groups $7 and of those with blocks from night $3 to $4, in the version valid at $5 as received up to $6.
-- Plan: the groups by the entries' indexes, then a backward index scan of group_version's key for each.
select known.key as "group", version.status, facts.name, facts.cutoff_date::text as "cutoffDate",
  facts.master_group_code as "masterGroup", facts.cutoff_days as "cutoffDays", facts.start_date::text as "startDate", version.request_id as "requestId",
  version.record_index as index
from (
  select unnest($7::text[]) as key
  union
  select key
  from bellhop_state.block_entry
  where bucket = $1 and property_id = $2 and first_night <= $4::date and first_night + nights > $3::date
    and (nights > 31 or first_night >= $3::date - 30)
) as known
cross join lateral (
  select newest.status, newest.facts_source_time, newest.content_hash, newest.request_id, newest.record_index
  from bellhop_state.group_version as newest
  where newest.bucket = $1 and newest.property_id = $2 and newest.key = known.key
    and newest.source_time <= $5 and newest.request_id < analytics.first_request_id_after($6)
  order by newest.source_time desc, newest.request_id desc, newest.record_index desc
  limit 1
) as version
join analytics.stored_group_version as facts
  on facts.bucket = $1 and facts.property_id = $2 and facts.key = known.key
  and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
order by known.key
