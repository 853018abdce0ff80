-- Webhook endpoints and their problems. Counts dead letters up to $1. Late deliveries are those due by the rule of find-due-messages.sql.
select
  count(*)::integer as endpoints,
  count(*) filter (where paused_at is not null and pause_reason is not null)::integer as paused,
  count(*) filter (where paused_at is null and failing_since < clock_timestamp() - interval '1 hour')::integer as failing,
  (
    select count(*)::integer from (
      select from bellhop.webhook_message where dead_at is not null limit $1
    ) as dead
  ) as dead,
  (
    select extract(epoch from clock_timestamp() - min(message.next_try_at))::float8
    from bellhop.webhook_message as message
    join bellhop.webhook_endpoint as endpoint using (endpoint_id)
    join bellhop.client as client using (client_id)
    where message.dead_at is null and endpoint.paused_at is null and coalesce(endpoint.not_before, '-infinity') < clock_timestamp()
      and client.revoked_at is null and (endpoint.kind = 'w' or endpoint.url = any (client.reply_to_origins))
      and (message.event <> 'changes.available' or 'read' = any (client.scopes))
  ) as "lateSeconds"
from bellhop.webhook_endpoint
