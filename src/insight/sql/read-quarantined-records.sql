-- The records of the property $2 in the bucket $1 that were quarantined as of the receipt $3: at most $4. What was resolved
-- was so by an entry of the log, whose id says when. Index scans of quarantine_unresolved and of quarantine_resolved_by.
select quarantined.resource, quarantined.key, quarantined.code, quarantined.request_id as "requestId", quarantined.record_index as index
from (
  select resource, key, code, request_id, record_index
  from bellhop.quarantine
  where bucket = $1 and property_id = $2 and state = 'q'
  union all
  select resource, key, code, request_id, record_index
  from bellhop.quarantine
  where bucket = $1 and property_id = $2 and resolved_by >= analytics.first_request_id_after($3)
) as quarantined
where quarantined.request_id < analytics.first_request_id_after($3)
order by quarantined.request_id, quarantined.record_index
limit $4
