-- Leases a due message to $1 for $2 seconds, and counts the attempt. One of each operator at a time, tests after others, so that many
-- messages of one operator, or slow ones, do not hold up those of others.
with due as (
  select message.message_id, message.next_try_at, message.occasion like 'test:%' as is_test,
    row_number() over (
      partition by subscription.operator_name order by message.occasion like 'test:%', message.next_try_at
    ) as place,
    bool_or(message.leased_until >= clock_timestamp()) over (partition by subscription.operator_name) as is_busy
  from bellhop.subscription_message as message
  join bellhop.subscription as subscription on subscription.subscription_id = message.subscription_id
  where message.state = 'waiting' and message.next_try_at <= clock_timestamp()
),
free as (
  select message.message_id
  from due
  join bellhop.subscription_message as message on message.message_id = due.message_id
  where due.place = 1 and due.is_busy is not true
    and message.state = 'waiting' and coalesce(message.leased_until < clock_timestamp(), true)
  order by due.is_test, due.next_try_at
  limit 1
  for update of message skip locked
)
update bellhop.subscription_message as message
set lease = $1, leased_until = clock_timestamp() + make_interval(secs => $2), attempts = message.attempts + 1
from free
where message.message_id = free.message_id
returning message.message_id as "messageId", message.subscription_id as "subscriptionId", message.occasion, message.attempts
