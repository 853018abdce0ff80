-- Puts a secret into a slot; whatever was there is gone. $4: seconds until it ends by itself, null for never.
insert into bellhop.client_secret (client_id, slot, digest, expires_at, pepper)
values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5)
on conflict (client_id, slot) do update
set digest = excluded.digest, pepper = excluded.pepper, created_at = clock_timestamp(), expires_at = excluded.expires_at, last_used_at = null
