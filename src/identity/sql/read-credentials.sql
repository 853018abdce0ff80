-- A client and its live secrets, one row per secret. An unknown id yields one revoked row with a digest that matches no secret: reading
-- a different number of rows would differ by 35 µs and disclose whether the id exists.
-- The epoch shows without another query whether keys or peppers have changed.
-- An open certification overrides the client's token burst and token lifetime.
select coalesce(c.scopes, '{inventories:write,reservations:write,groups:write,read}') as scopes,
  coalesce(open.token_burst, c.token_burst) as "tokenBurst",
  open.token_seconds as "tokenSeconds",
  open.certification_id as "certificationId",
  c.client_id is null or c.revoked_at is not null as revoked,
  coalesce(s.slot, 1) as slot,
  s.pepper,
  coalesce(s.digest, decode(repeat('00', 32), 'hex')) as digest,
  e.epoch::text as epoch
from (values ($1::text)) as asked (client_id)
  cross join bellhop.auth_epoch e
  left join bellhop.client c on c.client_id = asked.client_id
  left join bellhop.client_secret s
    on s.client_id = asked.client_id and (s.expires_at is null or s.expires_at > clock_timestamp())
  left join lateral (
    select certification_id, token_burst, token_seconds
    from bellhop.certification o
    where o.client_id = asked.client_id and o.ends_at > clock_timestamp()
    order by opened_at desc
    limit 1
  ) as open on true
order by s.slot
