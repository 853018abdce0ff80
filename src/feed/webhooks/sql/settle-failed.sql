-- The $3-th try of message $1 of endpoint $2 failed ($9). It is tried again in $10 seconds; if that is null it is a dead letter,
-- or (a test, $13) gone. The endpoint rests for $11 seconds, and is paused when it has been failing for $12 seconds or wants
-- no more ($14). A test says nothing about the endpoint.
with again as (
  update bellhop.webhook_message
  set attempts = $3::integer, last_failure = $9::text,
    next_try_at = clock_timestamp() + make_interval(secs => coalesce($10::float8, 0)),
    dead_at = case when $10::float8 is null then clock_timestamp() end
  where message_id = $1 and not $13::boolean
),
gone as (
  delete from bellhop.webhook_message where message_id = $1 and $13
),
worse as (
  update bellhop.webhook_endpoint
  set failures = failures + 1, failing_since = coalesce(failing_since, clock_timestamp()),
    not_before = clock_timestamp() + make_interval(secs => $11::float8),
    paused_at = coalesce(paused_at, case when $14::boolean or failing_since < clock_timestamp() - make_interval(secs => $12::float8)
      then clock_timestamp() end),
    paused_by = coalesce(paused_by, case when $14 or failing_since < clock_timestamp() - make_interval(secs => $12::float8)
      then 'service' end),
    pause_reason = coalesce(pause_reason, case
      when $14 then 'It answered 410 Gone.'
      when failing_since < clock_timestamp() - make_interval(secs => $12::float8)
        then 'Every try has failed since ' || to_char(failing_since, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '.'
      end)
  where endpoint_id = $2 and not $13
  returning paused_at is not null and paused_by = 'service' as is_paused
),
noted as (
  insert into bellhop.webhook_attempt
    (endpoint_id, message_id, event, url, attempt, attempted_at, duration_ms, status, failure, answer)
  select endpoint_id, $1, $4::text, $5::text, $3, clock_timestamp() - make_interval(secs => $6::float8 / 1000), $6,
    $7::smallint, $9, $8::text
  from bellhop.webhook_endpoint where endpoint_id = $2
)
select coalesce(bool_or(is_paused), false) as "isPaused" from worse
