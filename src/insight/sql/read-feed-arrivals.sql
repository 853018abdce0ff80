-- The $3 newest arrivals of each resource of property $2 in bucket $1, newest first.
-- Plan: a backward index scan of feed_arrival's primary key per resource, so the cost does not depend on the feed's length.
select resource.letter as resource, arrival.first_request_id, arrival.last_request_id,
  extract(epoch from analytics.received_at_of(arrival.first_request_id))::float8 * 1000 as first_ms,
  extract(epoch from analytics.received_at_of(arrival.last_request_id))::float8 * 1000 as last_ms,
  arrival.batches, arrival.applied, arrival.unchanged, arrival.stale, arrival.duplicate, arrival.quarantined,
  arrival.rejected, arrival.warned
from unnest('{i,r,g}'::"char"[]) as resource (letter)
cross join lateral (
  select *
  from bellhop.feed_arrival as newest
  where newest.bucket = $1 and newest.property_id = $2 and newest.resource = resource.letter
  order by newest.last_request_id desc
  limit $3
) as arrival
order by resource.letter, arrival.last_request_id desc
