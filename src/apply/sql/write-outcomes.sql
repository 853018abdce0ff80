-- What became of the records of each part, and which feeds they were of ($2; one statement, as each costs a round trip).
-- The primary keys make a part that is applied twice an error, not a fact.
with arrived as (
  insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
    duplicate, quarantined, rejected, warned, bucket, resource)
  select first_request_id, last_request_id, property_id, batches, applied, unchanged, stale, duplicate, quarantined,
    rejected, warned, bucket, resource
  from json_populate_recordset(null::bellhop.feed_arrival, $2::json)
)
insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
select bucket, request_id, clock_timestamp(), outcomes, details
from json_to_recordset($1::json) as part (bucket smallint, request_id uuid, outcomes text, details json)
