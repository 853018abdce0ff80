-- Records attempt $3 of message $1 of endpoint $2. Success ($10 null): deletes the message and activates the endpoint. Failure ($10): the
-- message is due in $11 seconds, or (null) becomes a dead letter, or (a test, $14) is deleted; the endpoint rests for $12 seconds and is
-- paused if it has failed for $13 seconds or is gone ($15). A failed test does not affect the endpoint.
with again as (
  update bellhop.webhook_message
  set attempts = $3::integer, last_failure = $10::text,
    next_try_at = clock_timestamp() + make_interval(secs => coalesce($11::float8, 0)),
    dead_at = case when $11::float8 is null then clock_timestamp() end
  where message_id = $1 and $10::text is not null and not $14::boolean
),
over as (
  delete from bellhop.webhook_message where message_id = $1 and ($10::text is null or $14::boolean)
),
well as (
  update bellhop.webhook_endpoint set failures = 0, failing_since = null, not_before = null
  where endpoint_id = $2 and failures > 0 and $10::text is null
),
worse as (
  update bellhop.webhook_endpoint
  set failures = failures + 1, failing_since = coalesce(failing_since, clock_timestamp()),
    not_before = clock_timestamp() + make_interval(secs => $12::float8),
    paused_at = coalesce(paused_at, case when $15::boolean or failing_since < clock_timestamp() - make_interval(secs => $13::float8)
      then clock_timestamp() end),
    paused_by = coalesce(paused_by, case when $15 or failing_since < clock_timestamp() - make_interval(secs => $13::float8)
      then 'service' end),
    pause_reason = coalesce(pause_reason, case
      when $15 then 'It answered 410 Gone.'
      when failing_since < clock_timestamp() - make_interval(secs => $13::float8)
        then 'Every try has failed since ' || to_char(failing_since, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '.'
      end)
  where endpoint_id = $2 and $10::text is not null and not $14::boolean
  returning paused_at is not null and paused_by = 'service' as is_paused
),
-- Keep the response body only if no erasure has run since $9 and none is running, as a resumed erasure would not find it. Locks the row
-- only for messages with guest data.
unerased as (
  select from bellhop.privacy_version
  where version = $9::bigint and not exists (select from bellhop.erasure where finished_at is null)
  for share
),
logged as (
  insert into bellhop.webhook_attempt
    (endpoint_id, message_id, event, url, attempt, attempted_at, duration_ms, status, failure, answer)
  select endpoint_id, $1, $4::text, $5::text, $3, clock_timestamp() - make_interval(secs => $6::float8 / 1000), $6,
    $7::smallint, $10::text,
    case when $8::text = '' or $4 <> 'changes.available' or exists (select from unerased) then $8 else '' end
  from bellhop.webhook_endpoint where endpoint_id = $2
)
select coalesce(bool_or(is_paused), false) as "isPaused" from worse
