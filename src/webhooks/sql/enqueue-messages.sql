-- Queues the messages $1, each id once, for endpoints with fewer than $2 waiting messages of the same event; others are dropped and
-- counted. An endpoint has at most one waiting changes message, so it always fits.
with sent as (
  select * from json_to_recordset($1::json)
    as sent (message_id uuid, endpoint_id uuid, event text, cause text, url text, body text)
),
full_queue as (
  select target.endpoint_id, target.event
  from (select distinct endpoint_id, event from sent) as target
  where (
    select count(*) from (
      select from bellhop.webhook_message as waiting
      where waiting.endpoint_id = target.endpoint_id and waiting.event = target.event and waiting.dead_at is null
      limit $2
    ) as counted
  ) >= $2
),
dropped as (
  update bellhop.webhook_endpoint as endpoint
  set dropped = endpoint.dropped + lost.messages, dropped_since = coalesce(endpoint.dropped_since, clock_timestamp())
  from (
    select endpoint_id, count(*) as messages from sent join full_queue using (endpoint_id, event) group by endpoint_id
  ) as lost
  where endpoint.endpoint_id = lost.endpoint_id
)
insert into bellhop.webhook_message (message_id, endpoint_id, event, cause, url, body)
select message_id, endpoint_id, event, cause, url, body
from sent
where (endpoint_id, event) not in (select endpoint_id, event from full_queue)
on conflict (message_id) do nothing
