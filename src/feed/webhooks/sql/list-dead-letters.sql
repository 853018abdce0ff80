-- What was given up of endpoint $1, the newest first, at most $2.
select message_id as "messageId", endpoint_id as "endpointId", event, cause, created_at as "createdAt",
  dead_at as "deadAt", attempts, last_failure as "lastFailure"
from bellhop.webhook_message
where endpoint_id = $1 and dead_at is not null
order by dead_at desc, message_id
limit $2
