-- Writes the outcomes of parts ($1), their feed arrivals ($2), and applied_part rows for clients that listen.
-- $3 concatenates the details: nesting JSON in JSON would cost more than the row. The primary keys make applying a part twice an error.
with part as materialized (
  select bucket, request_id, client_id, outcomes, details_from, details_bytes
  from json_to_recordset($1::json) as part (
    bucket smallint, request_id uuid, client_id text, outcomes text, details_from integer, details_bytes integer
  )
),
arrived as (
  insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
    duplicate, quarantined, rejected, warned, bucket, resource)
  select first_request_id, last_request_id, property_id, batches, applied, unchanged, stale, duplicate, quarantined,
    rejected, warned, bucket, resource
  from json_populate_recordset(null::bellhop.feed_arrival, $2::json)
),
noted as (
  insert into bellhop.applied_part (bucket, request_id, client_id)
  select part.bucket, part.request_id, part.client_id
  from part
  where {listens}
)
insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
select bucket, request_id, clock_timestamp(), outcomes,
  convert_from(substring($3::bytea from details_from for details_bytes), 'UTF8')::json
from part
