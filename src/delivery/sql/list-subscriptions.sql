-- At most $3 subscriptions, oldest first: of the operators $1 (null: all), with id $2 (null: any).
select
  subscription.subscription_id as "subscriptionId", operator.name as operator, operator.email,
  operator.disabled_at is not null as "isOperatorDisabled", operator.grants,
  subscription.kind, subscription.client_code as "clientCode", subscription.property_code as "propertyCode",
  subscription.local_time as "localTime", subscription.nights, subscription.conditions,
  subscription.pickup_rooms as "pickupRooms", subscription.created_at as "createdAt",
  subscription.active_from as "activeFrom", subscription.paused_at as "pausedAt", subscription.paused_by as "pausedBy",
  (
    select count(*)::integer from bellhop.alert as alert
    where alert.subscription_id = subscription.subscription_id and alert.ended_at is null
  ) as "openAlerts"
from bellhop.subscription as subscription
join bellhop.operator as operator on operator.name = subscription.operator_name
where ($1::text[] is null or operator.name = any ($1)) and ($2::uuid is null or subscription.subscription_id = $2)
order by subscription.created_at, subscription.subscription_id
limit $3
