-- Last used to the minute: a client that authenticates often does not rewrite its row every time.
update bellhop.client_secret
set last_used_at = clock_timestamp()
where client_id = $1 and slot = $2
  and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')
