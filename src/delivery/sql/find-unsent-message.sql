-- The waiting message of alerts of subscription $1 that no node has tried to send, locked; whether there may be another: fewer
-- than $2 wait, and the newest is as many minutes old as there were more than $3 within a day. No row if it was removed.
select
  (
    select message_id from bellhop.subscription_message
    where subscription_id = $1 and state = 'waiting' and attempts = 0 and occasion like 'alerts:%'
    order by created_at desc limit 1 for update
  ) as "messageId",
  (
    select count(*) from (
      select from bellhop.subscription_message where subscription_id = $1 and state = 'waiting' limit $2
    ) as waiting
  ) < $2 and (
    select coalesce(max(created_at) <= clock_timestamp() - make_interval(mins => count(*)::integer - $3), true)
    from bellhop.subscription_message
    where subscription_id = $1 and created_at > clock_timestamp() - interval '1 day' and occasion like 'alerts:%'
  ) as "hasRoom"
from bellhop.subscription as subscription
where subscription.subscription_id = $1
for key share of subscription
