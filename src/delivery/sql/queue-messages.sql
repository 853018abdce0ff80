-- Queues messages, each occasion of a subscription once; $1: [{"message_id", "subscription_id", "occasion"}].
insert into bellhop.subscription_message (message_id, subscription_id, occasion)
select message_id, subscription_id, occasion
from json_to_recordset($1::json) as planned (message_id uuid, subscription_id uuid, occasion text)
on conflict (subscription_id, occasion) do nothing
