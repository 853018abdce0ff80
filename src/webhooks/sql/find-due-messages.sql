-- At most $4 due messages of the endpoints in shards $1, except the messages $2 (in progress). Not due: a ReplyTo message whose origin has
-- been removed from the client's list, and changes without the scope read. A test is due in any state of its endpoint.
-- Of an endpoint that is paused or rests only tests are read, and of others only what is due: either may have ten thousand waiting messages.
-- (The statement's time is a condition of the indexes; the clock's would be a filter.)
-- Clients take turns, the one with the fewest in progress first: at most $5 of a client in progress, of which at most $3 of an endpoint, and
-- one of a failing endpoint. Within a turn healthy endpoints come first, then the longest due. More of a client are not returned, because
-- they would take the places of others'.
with running as (
  select endpoint.endpoint_id, endpoint.client_id, count(*) as tries
  from bellhop.webhook_message as message
  join bellhop.webhook_endpoint as endpoint on endpoint.endpoint_id = message.endpoint_id
  where message.message_id = any ($2::uuid[])
  group by endpoint.endpoint_id
)
select "messageId", "endpointId", "clientId", failures
from (
  select
    due.message_id as "messageId", endpoint.endpoint_id as "endpointId", endpoint.client_id as "clientId",
    endpoint.failures, due.next_try_at,
    coalesce((select sum(tries) from running where running.client_id = endpoint.client_id), 0)
      + row_number() over (partition by endpoint.client_id order by endpoint.failures > 0, due.next_try_at) as turn
  from bellhop.webhook_endpoint as endpoint
  join bellhop.client as client on client.client_id = endpoint.client_id
  left join running on running.endpoint_id = endpoint.endpoint_id
  cross join lateral (
    select endpoint.paused_at is null and coalesce(endpoint.not_before <= statement_timestamp(), true) as is_open,
      greatest(case when endpoint.failures > 0 then 1 else $3 end - coalesce(running.tries, 0), 0) as room
  ) as state
  cross join lateral (
    (
      select message.message_id, message.next_try_at
      from bellhop.webhook_message as message
      where state.is_open and message.endpoint_id = endpoint.endpoint_id and message.dead_at is null
        and message.next_try_at <= statement_timestamp() and message.message_id <> all ($2::uuid[])
        and (message.event <> 'changes.available' or 'read' = any (client.scopes))
      order by message.next_try_at
      limit state.room
    )
    union all
    (
      select test.message_id, test.next_try_at
      from bellhop.webhook_message as test
      where not state.is_open and test.endpoint_id = endpoint.endpoint_id and test.dead_at is null
        and test.event = 'webhook.test' and test.next_try_at <= statement_timestamp() and test.message_id <> all ($2::uuid[])
      order by test.next_try_at
      limit state.room
    )
  ) as due
  where endpoint.shard = any ($1::smallint[]) and client.revoked_at is null
    and (endpoint.kind = 'w' or endpoint.url = any (client.reply_to_origins))
) as due_of_clients
where turn <= $5
order by turn, failures > 0, next_try_at
limit $4
