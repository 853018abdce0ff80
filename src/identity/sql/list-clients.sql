-- $1: client id, or null for all clients.
select c.client_id as "clientId",
  c.name,
  c.scopes,
  (
    select coalesce(
      json_agg(json_build_object('clientCode', g.client_code, 'propertyCode', g.property_code)
        order by g.client_code, g.property_code), '[]')
    from bellhop.client_grant g
    where g.client_id = c.client_id
  ) as grants,
  c.request_rate as "requestRate",
  c.request_burst as "requestBurst",
  c.token_burst as "tokenBurst",
  c.reply_to_origins as "replyToOrigins",
  c.nulls,
  c.created_at as "createdAt",
  c.revoked_at as "revokedAt",
  (select max(s.last_used_at) from bellhop.client_secret s where s.client_id = c.client_id) as "lastUsedAt"
from bellhop.client c
where $1::text is null or c.client_id = $1
order by c.created_at, c.client_id
