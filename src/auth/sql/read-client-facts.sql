-- What a node keeps in memory of a client whose token it has seen.
select scopes,
  request_rate as "requestRate",
  request_burst as "requestBurst",
  reply_to_origins as "replyToOrigins",
  revoked_at is not null as revoked,
  (
    select coalesce(json_agg(json_build_object('clientCode', g.client_code, 'propertyCode', g.property_code)), '[]')
    from bellhop.client_grant g
    where g.client_id = c.client_id
  ) as grants
from bellhop.client c
where client_id = $1
