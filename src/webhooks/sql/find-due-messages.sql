-- What is to be tried now of the endpoints in shards $1, but for the messages $2, which are being tried: of each endpoint the
-- longest due, $3 at most and of one that keeps failing only one; in all $4, those of healthy endpoints first. A ReplyTo whose
-- origin the operator has taken from the client's list is not due any more, nor are changes without the scope read. A test is due
-- whatever its endpoint's state is.
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
