-- The rejected records of at most $4 parts, the newest, that the clients $1 sent in one of the spans of requests from $2 to $3; at most $5
-- records, and messages of no others. Plan: accept_log_rejected per client. A part lists at most 10,000 violations, by index.
select bucket, resource, request_id as "requestId", (rejection ->> 'index')::integer as index,
  rejection -> 'violations' -> 0 ->> 'message' as message
from (
  select part.bucket, part.resource, part.request_id, rejected.rejection, rejected.place
  from (
    select bucket, resource, request_id, rejections
    from bellhop.accept_log as log
    where log.client_id = any ($1::text[]) and log.rejections is not null
      and log.request_id >= (select min(span::text)::uuid from unnest($2::uuid[]) as span)
      and log.request_id <= (select max(span::text)::uuid from unnest($3::uuid[]) as span)
      and exists (
        select from unnest($2::uuid[], $3::uuid[]) as span (first, last)
        where log.request_id between span.first and span.last
      )
    order by log.request_id desc
    limit $4
  ) as part
  cross join lateral (
    select rejection, place
    from json_array_elements(part.rejections) with ordinality as element (rejection, place)
    limit $5
  ) as rejected
  order by part.request_id desc, rejected.place
  limit $5
) as found
order by request_id desc, place
