-- The newest $3 messages: of the operators $1 (null: all), of subscription $2 (null: any).
select
  message.message_id as "messageId", subscription.subscription_id as "subscriptionId", operator.name as operator, subscription.kind,
  subscription.client_code as "clientCode", subscription.property_code as "propertyCode", message.occasion, message.subject,
  message.state, message.attempts, message.created_at as "createdAt", message.settled_at as "settledAt", message.result,
  message.state = 'kept' and (subscription.kind = 'alerts' or message.body_html is not null) as "hasBody"
from bellhop.subscription as subscription
join bellhop.operator as operator on operator.name = subscription.operator_name
cross join lateral (
  select * from bellhop.subscription_message as newest
  where newest.subscription_id = subscription.subscription_id
  order by newest.created_at desc
  limit $3
) as message
where ($1::text[] is null or operator.name = any ($1)) and ($2::uuid is null or subscription.subscription_id = $2)
order by message.created_at desc, message.message_id
limit $3
