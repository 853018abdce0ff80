update bellhop.client_secret
set expires_at = least(coalesce(expires_at, 'infinity'), clock_timestamp() + make_interval(secs => $3))
where client_id = $1 and slot = $2
returning expires_at as "expiresAt"
