-- Which of the clients $1 want to hear of applied requests (as write-outcomes).
select client.client_id
from bellhop.client as client
where client.client_id = any ($1::text[]) and (
  client.reply_to_origins <> '{}'
  or exists (
    select from bellhop.webhook_endpoint as endpoint
    where endpoint.client_id = client.client_id and 'request.applied' = any (endpoint.events)
  )
)
