-- At most $3 endpoints of client $1 (null: all), or the one with id $2 (null: any), of the clients $4 (null: all), oldest first, with their
-- waiting messages, counted up to 10,001.
select
  endpoint.endpoint_id as "endpointId", case endpoint.kind when 'r' then 'reply-to' else 'webhook' end as kind,
  endpoint.client_id as "clientId", client.name as "clientName",
  endpoint.url, endpoint.description, endpoint.events, endpoint.resource, endpoint.client_code as "clientCode",
  endpoint.property_code as "propertyCode", endpoint.created_at as "createdAt", endpoint.paused_at as "pausedAt",
  endpoint.paused_by as "pausedBy", endpoint.pause_reason as "pauseReason", endpoint.failures,
  endpoint.failing_since as "failingSince", endpoint.dropped::float8 as dropped, endpoint.dropped_since as "droppedSince",
  waiting.count::integer as waiting, waiting.oldest as "waitingSince", dead.count::integer as "deadLetters",
  last_try.attempted_at as "lastTryAt", last_try.status as "lastStatus", last_try.failure as "lastFailure",
  case when endpoint.paused_at is not null then 'paused' when endpoint.failures > 0 then 'failing' else 'active' end as state
from bellhop.webhook_endpoint as endpoint
join bellhop.client as client on client.client_id = endpoint.client_id
cross join lateral (
  select count(*) as count, min(message.created_at) as oldest
  from (
    select created_at from bellhop.webhook_message as message
    where message.endpoint_id = endpoint.endpoint_id and message.dead_at is null limit 10001
  ) as message
) as waiting
cross join lateral (
  select count(*) as count
  from (
    select from bellhop.webhook_message as message
    where message.endpoint_id = endpoint.endpoint_id and message.dead_at is not null limit 10001
  ) as message
) as dead
left join lateral (
  select attempted_at, status, failure from bellhop.webhook_attempt as attempt
  where attempt.endpoint_id = endpoint.endpoint_id
  order by attempt.attempt_id desc limit 1
) as last_try on true
where ($1::text is null or endpoint.client_id = $1) and ($2::uuid is null or endpoint.endpoint_id = $2)
  and ($4::text[] is null or endpoint.client_id = any ($4))
order by endpoint.created_at, endpoint.endpoint_id
limit $3
