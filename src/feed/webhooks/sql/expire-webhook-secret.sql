-- Has the secret in slot $2 of endpoint $1 end in $3 seconds, or when it would have anyway.
update bellhop.webhook_secret
set expires_at = least(expires_at, clock_timestamp() + make_interval(secs => $3))
where endpoint_id = $1 and slot = $2
returning expires_at as "expiresAt"
