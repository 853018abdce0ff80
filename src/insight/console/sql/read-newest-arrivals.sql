-- When the newest batch of each resource that is applied came, of each property $2 in its bucket $1.
-- Plan: for each property and resource a backward scan of one row of feed_arrival's primary key.
select wanted.property_id as "propertyId", resource.letter as resource, arrival.last_request_id as "requestId"
from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
cross join unnest('{i,r,g}'::"char"[]) as resource (letter)
cross join lateral (
  select t.last_request_id
  from bellhop.feed_arrival as t
  where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = resource.letter /* and its bucket */
  order by t.last_request_id desc
  limit 1
) as arrival
