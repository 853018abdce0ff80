-- The next $4 clients after ($2, $3), oldest first, whose name or id contains $1. A few hundred clients at most are usual; with
-- 100,000 it is a scan of 40 ms.
select c.client_id as "clientId", c.name, c.scopes, c.request_rate as "requestRate", c.request_burst as "requestBurst",
  c.token_burst as "tokenBurst", c.created_at as "createdAt", c.revoked_at as "revokedAt",
  to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position,
  (select max(s.last_used_at) from bellhop.client_secret s where s.client_id = c.client_id) as "lastUsedAt",
  (select count(*)::integer from bellhop.client_grant g where g.client_id = c.client_id) as "grantTotal"
from bellhop.client c
where ($1::text is null or position(lower($1) in lower(c.name)) > 0 or position(lower($1) in lower(c.client_id)) > 0)
  and (c.created_at, c.client_id) > ($2::timestamptz, $3::text)
order by c.created_at, c.client_id
limit $4
