-- What became of the records of each part, and which feeds they were of ($2; one statement, as each costs a round trip).
-- The primary keys make a part that is applied twice an error, not a fact. Parts whose client wants to hear of it are noted.
with arrived as (
  insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
    duplicate, quarantined, rejected, warned, bucket, resource)
  select first_request_id, last_request_id, property_id, batches, applied, unchanged, stale, duplicate, quarantined,
    rejected, warned, bucket, resource
  from json_populate_recordset(null::bellhop.feed_arrival, $2::json)
),
noted as (
  insert into bellhop.applied_part (bucket, request_id, client_id)
  select part.bucket, part.request_id, part.client_id
  from json_to_recordset($1::json) as part (bucket smallint, request_id uuid, client_id text)
  where exists (
    select from bellhop.client as client
    where client.client_id = part.client_id and (
      client.reply_to_origins <> '{}'
      or exists (
        select from bellhop.webhook_endpoint as endpoint
        where endpoint.client_id = client.client_id and 'request.applied' = any (endpoint.events)
      )
    )
  )
)
insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes, details)
select bucket, request_id, clock_timestamp(), outcomes, details
from json_to_recordset($1::json) as part (bucket smallint, request_id uuid, outcomes text, details json)
