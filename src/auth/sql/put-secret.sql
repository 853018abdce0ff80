-- Puts a secret into a slot; whatever was there is gone. $4: seconds until it ends by itself, null for never.
insert into bellhop.client_secret (client_id, slot, digest, expires_at)
values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
on conflict (client_id, slot) do update
set digest = excluded.digest, created_at = clock_timestamp(), expires_at = excluded.expires_at, last_used_at = null
