insert into bellhop.signing_key (kid, public_jwk, private_key, activate_at)
values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
returning activate_at as "activateAt"
