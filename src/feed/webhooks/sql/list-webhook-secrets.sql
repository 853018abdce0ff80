-- The secrets of endpoint $1 that are live, the newest first.
select slot, sealed, created_at as "createdAt", expires_at as "expiresAt"
from bellhop.webhook_secret
where endpoint_id = $1 and (expires_at is null or expires_at > clock_timestamp())
order by created_at desc, slot desc
