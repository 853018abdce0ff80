-- At most $4 records of property $2 in bucket $1 that were quarantined at receipt $3. A record was resolved at the id of the log entry that
-- resolved it. Plan: index scans of quarantine_unresolved and quarantine_resolved_by.
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
