-- One message as it is sent; nothing when it was delivered, given up or removed meanwhile.
select message.body, message.event, message.cause, coalesce(message.url, endpoint.url) as url, message.attempts,
  extract(epoch from clock_timestamp())::float8 as "nowSeconds",
  (select version::text from bellhop.privacy_version) as "privacyVersion",
  extract(epoch from clock_timestamp() - message.created_at)::float8 as "ageSeconds"
from bellhop.webhook_message as message
join bellhop.webhook_endpoint as endpoint on endpoint.endpoint_id = message.endpoint_id
where message.message_id = $1 and message.dead_at is null
