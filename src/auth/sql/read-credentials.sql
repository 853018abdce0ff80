select c.scopes,
  c.token_burst as "tokenBurst",
  c.revoked_at is not null as revoked,
  s.slot,
  s.digest
from bellhop.client c
  left join bellhop.client_secret s
    on s.client_id = c.client_id and (s.expires_at is null or s.expires_at > clock_timestamp())
where c.client_id = $1
order by s.slot
