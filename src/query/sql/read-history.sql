-- The versions of one record after ($4, $5, $6), oldest first by source time and receipt.
-- Plan: Limit over an incremental sort (presorted by source_time) over an index scan of the versions' primary key.
select
  to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime",
  request_id as "requestId", record_index as "index", outcome
from {versions} as version
where bucket = $1 and property_id = $2 and key = $3
  and source_time >= $4::timestamptz and (source_time, request_id, record_index) > ($4::timestamptz, $5::uuid, $6::integer)
order by version.source_time, request_id, record_index
limit $7
