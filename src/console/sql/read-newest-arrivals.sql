-- When the newest batch of each resource that is applied came, of each property $2 in its bucket $1.
-- Plan: for each property and resource a backward scan of one row of feed_arrival's primary key.
select wanted.place::integer as place, resource.letter as resource, arrival.last_request_id as "requestId"
from unnest($1::smallint[], $2::integer[]) with ordinality as wanted (bucket, property_id, place)
cross join unnest('{i,r,g}'::"char"[]) as resource (letter)
cross join lateral (
  select newest.last_request_id
  from bellhop.feed_arrival as newest
  where newest.bucket = wanted.bucket and newest.property_id = wanted.property_id and newest.resource = resource.letter
  order by newest.last_request_id desc
  limit 1
) as arrival
