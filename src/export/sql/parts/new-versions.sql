-- The versions of one resource received from $2 on, and those of earlier records released from quarantine since.
select '{of}'::text as resource, property_id, key, source_time, content_hash, request_id, record_index, outcome, status, from_date, to_date
from bellhop_state.{of}_version
where bucket = $1::smallint and request_id >= $2::uuid
union all
select '{of}', version.property_id, version.key, version.source_time, version.content_hash, version.request_id,
  version.record_index, version.outcome, version.status, version.from_date, version.to_date
from bellhop.quarantine as released
join bellhop_state.{of}_version as version
  on version.bucket = released.bucket and version.property_id = released.property_id and version.key = released.key
  and version.request_id = released.request_id and version.record_index = released.record_index
where released.bucket = $1 and released.resolved_by >= $2 and released.request_id < $2
