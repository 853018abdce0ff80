update bellhop.client set revoked_at = clock_timestamp(), changed_epoch = $2
where client_id = $1 and revoked_at is null
returning revoked_at as "revokedAt"
