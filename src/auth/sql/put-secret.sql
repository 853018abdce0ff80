-- Puts a secret into a slot; whatever was there is gone.
insert into bellhop.client_secret (client_id, slot, digest) values ($1, $2, $3)
on conflict (client_id, slot) do update
set digest = excluded.digest, created_at = clock_timestamp(), expires_at = null, last_used_at = null
