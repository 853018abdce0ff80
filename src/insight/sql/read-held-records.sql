-- The records of the property $2 in the bucket $1 that were held in quarantine as of the receipt $3: at most $4. What was resolved
-- was so by an entry of the log, whose id says when. Index scans of quarantine_held and of quarantine_resolved_by.
select held.resource, held.key, held.code, held.request_id as "requestId", held.record_index as index
from (
  select resource, key, code, request_id, record_index
  from bellhop.quarantine
  where bucket = $1 and property_id = $2 and state = 'h'
  union all
  select resource, key, code, request_id, record_index
  from bellhop.quarantine
  where bucket = $1 and property_id = $2 and resolved_by >= analytics.first_request_id_after($3)
) as held
where held.request_id < analytics.first_request_id_after($3)
order by held.request_id, held.record_index
limit $4
