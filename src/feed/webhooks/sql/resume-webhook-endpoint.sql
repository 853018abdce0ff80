-- Has endpoint $1 tried again at once, as if nothing had failed; what waits for it is due now.
with due as (
  update bellhop.webhook_message set next_try_at = clock_timestamp()
  where endpoint_id = $1 and dead_at is null and next_try_at > clock_timestamp()
)
update bellhop.webhook_endpoint
set paused_at = null, paused_by = null, pause_reason = null, failures = 0, failing_since = null, not_before = null,
  dropped = 0, dropped_since = null
where endpoint_id = $1
