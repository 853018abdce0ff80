-- Who of the clients $1 wants to hear of applied requests: by which endpoints, and at which origins of ReplyTo headers.
select
  client.client_id, client.reply_to_origins,
  array(
    select endpoint.endpoint_id from bellhop.webhook_endpoint as endpoint
    where endpoint.client_id = client.client_id and endpoint.kind = 'w' and 'request.applied' = any (endpoint.events)
  ) as endpoint_ids
from bellhop.client as client
where client.client_id = any ($1::text[]) and client.revoked_at is null
