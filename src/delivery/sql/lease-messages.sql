-- Leases at most $3 due messages to $1 for $2 seconds, and counts the attempt.
update bellhop.subscription_message as message
set lease = $1, leased_until = clock_timestamp() + make_interval(secs => $2), attempts = message.attempts + 1
from (
  select message_id from bellhop.subscription_message
  where state = 'waiting' and next_try_at <= clock_timestamp() and coalesce(leased_until < clock_timestamp(), true)
  order by next_try_at
  limit $3
  for update skip locked
) as due
where message.message_id = due.message_id
returning message.message_id as "messageId", message.subscription_id as "subscriptionId", message.occasion, message.attempts
