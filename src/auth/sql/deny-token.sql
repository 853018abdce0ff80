insert into bellhop.denied_token (jti, client_id, expires_at, changed_epoch)
values ($1, $2, coalesce(to_timestamp($3::float8 / 1000), clock_timestamp() + make_interval(secs => $4)), $5)
on conflict (jti) do nothing
returning jti
