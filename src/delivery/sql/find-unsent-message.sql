-- The waiting message of alerts of subscription $1 that no node has tried to send, locked; whether fewer than $2 wait.
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
  ) < $2 as "hasRoom"
