-- Puts the sealed secret $3 into slot $2 of endpoint $1, in the place of what was there.
insert into bellhop.webhook_secret (endpoint_id, slot, sealed) values ($1, $2, $3)
on conflict (endpoint_id, slot) do update
set sealed = excluded.sealed, created_at = clock_timestamp(), expires_at = null
