-- Queues messages, each occasion of a subscription once, unless it was removed; $1: [{"message_id", "subscription_id", "occasion"}].
insert into bellhop.subscription_message (message_id, subscription_id, occasion)
select planned.message_id, subscription.subscription_id, planned.occasion
from json_to_recordset($1::json) as planned (message_id uuid, subscription_id uuid, occasion text)
join bellhop.subscription as subscription on subscription.subscription_id = planned.subscription_id
for key share of subscription
on conflict (subscription_id, occasion) do nothing
