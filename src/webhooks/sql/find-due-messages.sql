-- At most $4 due messages of the endpoints in shards $1, except the messages $2 (in progress): the longest due first, at most $3 per
-- endpoint, one of a failing endpoint, healthy endpoints first. Not due: a ReplyTo message whose origin has been removed from the client's
-- list, and changes without the scope read. A test is due in any state of its endpoint.
select
  due.message_id as "messageId", endpoint.endpoint_id as "endpointId", endpoint.client_id as "clientId",
  endpoint.failures
from bellhop.webhook_endpoint as endpoint
join bellhop.client as client on client.client_id = endpoint.client_id
cross join lateral (
  select message.message_id, message.next_try_at
  from bellhop.webhook_message as message
  where message.endpoint_id = endpoint.endpoint_id and message.dead_at is null
    and message.next_try_at <= clock_timestamp() and message.message_id <> all ($2::uuid[])
    and (message.event <> 'changes.available' or 'read' = any (client.scopes))
    and (
      message.event = 'webhook.test'
      or (endpoint.paused_at is null and coalesce(endpoint.not_before <= clock_timestamp(), true))
    )
  order by message.next_try_at
  limit case when endpoint.failures > 0 then 1 else $3 end
) as due
where endpoint.shard = any ($1::smallint[]) and client.revoked_at is null
  and (endpoint.kind = 'w' or endpoint.url = any (client.reply_to_origins))
order by endpoint.failures > 0, due.next_try_at
limit $4
