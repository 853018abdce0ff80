-- Applies the limits for endpoints in shards $1: keeps the newest $2 attempts and the newest $3 dead letters of the last $4 days. Deletes
-- ReplyTo origins that no list contains, with their waiting messages.
with endpoint as (
  select endpoint.endpoint_id from bellhop.webhook_endpoint as endpoint where endpoint.shard = any ($1::smallint[])
),
old_tries as (
  delete from bellhop.webhook_attempt as attempt
  using (
    select endpoint.endpoint_id, kept.attempt_id
    from endpoint
    cross join lateral (
      select newest.attempt_id from bellhop.webhook_attempt as newest
      where newest.endpoint_id = endpoint.endpoint_id
      order by newest.attempt_id desc offset $2 limit 1
    ) as kept
  ) as bound
  where attempt.endpoint_id = bound.endpoint_id and attempt.attempt_id <= bound.attempt_id
),
old_letters as (
  delete from bellhop.webhook_message as message
  using endpoint
  where message.endpoint_id = endpoint.endpoint_id and message.dead_at is not null
    and message.dead_at <= greatest(
      clock_timestamp() - make_interval(days => $4),
      (
        select newest.dead_at from bellhop.webhook_message as newest
        where newest.endpoint_id = endpoint.endpoint_id and newest.dead_at is not null
        order by newest.dead_at desc offset $3 limit 1
      )
    )
)
delete from bellhop.webhook_endpoint as unlisted
using bellhop.client as client
where unlisted.kind = 'r' and unlisted.shard = any ($1::smallint[]) and client.client_id = unlisted.client_id
  and not unlisted.url = any (client.reply_to_origins)
