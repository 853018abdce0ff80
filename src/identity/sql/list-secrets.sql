select slot,
  created_at as "createdAt",
  expires_at as "expiresAt",
  last_used_at as "lastUsedAt",
  expires_at is null or expires_at > clock_timestamp() as live
from bellhop.client_secret
where client_id = $1
order by created_at, slot
