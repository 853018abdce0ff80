-- Has the dead letters of endpoint $1 (or only $2) tried anew, from the beginning of their plan.
update bellhop.webhook_message
set dead_at = null, attempts = 0, next_try_at = clock_timestamp()
where endpoint_id = $1 and dead_at is not null and ($2::uuid is null or message_id = $2)
