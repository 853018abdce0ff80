-- The current inventory record of each night from $3 to $4, and whether it is valid: source time at or before $5, received before request
-- $6, and not quarantined then. Plan: index scans of current_record's primary key (the key is the night) and quarantine_resolved_by.
select
  key as night, to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time, request_id,
  record_index, facts_source_time::text as facts_source_time, encode(content_hash, 'hex') as content_hash,
  source_time <= $5::timestamptz and request_id < $6::uuid and (request_id, record_index) not in (
    select quarantine.request_id, quarantine.record_index
    from bellhop.quarantine
    where quarantine.bucket = $1 and quarantine.property_id = $2 and quarantine.resolved_by >= $6::uuid
  ) as counts
from bellhop_state.current_record
where bucket = $1 and property_id = $2 and resource = 'i' and key >= $3 and key <= $4
order by key
