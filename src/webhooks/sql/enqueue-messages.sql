-- Queues the messages of $1, each id once, for endpoints that have fewer than $2 waiting; what finds the queue full is counted.
-- Of changes there is never more than one, and the endpoint's place in the feed is moved with it: it always finds room.
with sent as (
  select * from json_to_recordset($1::json)
    as sent (message_id uuid, endpoint_id uuid, event text, cause text, url text, body text)
),
full_queue as (
  select target.endpoint_id
  from (select distinct endpoint_id from sent where event <> 'changes.available') as target
  where (
    select count(*) from (
      select from bellhop.webhook_message as waiting
      where waiting.endpoint_id = target.endpoint_id and waiting.dead_at is null
      limit $2
    ) as counted
  ) >= $2
),
dropped as (
  update bellhop.webhook_endpoint as endpoint
  set dropped = endpoint.dropped + lost.messages, dropped_since = coalesce(endpoint.dropped_since, clock_timestamp())
  from (
    select endpoint_id, count(*) as messages from sent
    where endpoint_id in (select endpoint_id from full_queue) and event <> 'changes.available'
    group by endpoint_id
  ) as lost
  where endpoint.endpoint_id = lost.endpoint_id
)
insert into bellhop.webhook_message (message_id, endpoint_id, event, cause, url, body)
select message_id, endpoint_id, event, cause, url, body
from sent
where event = 'changes.available' or endpoint_id not in (select endpoint_id from full_queue)
on conflict (message_id) do nothing
