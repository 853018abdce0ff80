-- Applies the limits: of each subscription, settled messages of $1 days, the newest $2 of them (and those of three days, which keep an
-- occasion from being queued again), the bodies of the newest $3; ended alerts that no message is left of.
with old_alerts as (
  delete from bellhop.alert where ended_at is not null and began_message is null and ended_message is null
),
placed as (
  select message_id, created_at, row_number() over (partition by subscription_id order by created_at desc) as place
  from bellhop.subscription_message
  where state <> 'waiting'
),
old_messages as (
  delete from bellhop.subscription_message as message
  using placed
  where message.message_id = placed.message_id
    and (
      placed.created_at < clock_timestamp() - make_interval(days => $1)
      or (placed.place > $2 and placed.created_at < clock_timestamp() - interval '3 days')
    )
  returning message.message_id
)
update bellhop.subscription_message as message
set body_html = null
from placed
where message.message_id = placed.message_id and placed.place > $3 and message.body_html is not null
  and message.message_id not in (select message_id from old_messages)
