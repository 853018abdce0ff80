-- Of each of the nights $3 the newest inventory version of those whose source time is after $4 and at or before $5 and that
-- were received before the request $6, and not held then. The primary key is in the order of source times, so a step back in time costs the versions
-- of that time (docs/decisions/0008); an index only scan of it but for the nights that are asked for.
select distinct on (key)
  key as night, facts_source_time::text as facts_source_time, encode(content_hash, 'hex') as content_hash
from bellhop_state.inventory_version
where bucket = $1 and property_id = $2 and source_time > $4::timestamptz and source_time <= $5::timestamptz
  and key = any ($3::text[]) and request_id < $6::uuid and (request_id, record_index) not in (
    select held.request_id, held.record_index
    from bellhop.quarantine as held
    where held.bucket = $1 and held.property_id = $2 and held.resolved_by >= $6::uuid
  )
order by key, source_time desc, request_id desc, record_index desc
