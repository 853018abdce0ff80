-- Pauses endpoint $1 by $2 because of $3, unless it is paused.
update bellhop.webhook_endpoint
set paused_at = clock_timestamp(), paused_by = $2, pause_reason = $3
where endpoint_id = $1 and paused_at is null
