-- The client facts that a node caches. An open certification overrides the client's rate and burst until it ends.
select scopes,
  coalesce(open.request_rate, c.request_rate) as "requestRate",
  coalesce(open.request_burst, c.request_burst) as "requestBurst",
  reply_to_origins as "replyToOrigins",
  nulls,
  revoked_at is not null as revoked,
  open.certification_id as "certificationId",
  extract(epoch from open.ends_at)::float8 * 1000 as "knownUntilMs",
  (
    select coalesce(json_agg(json_build_object('clientCode', g.client_code, 'propertyCode', g.property_code)), '[]')
    from bellhop.client_grant g
    where g.client_id = c.client_id
  ) as grants
from bellhop.client c
left join lateral (
  select certification_id, request_rate, request_burst, ends_at
  from bellhop.certification o
  where o.client_id = c.client_id and o.ends_at > clock_timestamp()
  order by opened_at desc
  limit 1
) as open on true
where c.client_id = $1
