-- Ends what could not be verified any more.
update bellhop.client_secret
set expires_at = clock_timestamp()
where pepper = $1 and (expires_at is null or expires_at > clock_timestamp())
