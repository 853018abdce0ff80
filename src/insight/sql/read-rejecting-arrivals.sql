-- The $4 newest transactions of the feeds of property $2 in bucket $1 that contain rejected records, received up to $3.
-- Plan: backward index scans of feed_arrival's primary key, which has the arrivals of 35 days.
select arrival.first_request_id as first, arrival.last_request_id as last
from unnest('{i,r}'::"char"[]) as resource (letter)
cross join lateral (
  select first_request_id, last_request_id
  from bellhop.feed_arrival as newest
  where newest.bucket = $1 and newest.property_id = $2 and newest.resource = resource.letter and newest.rejected > 0
    and newest.first_request_id < analytics.first_request_id_after($3)
  order by newest.last_request_id desc
  limit $4
) as arrival
order by arrival.last_request_id desc
limit $4
