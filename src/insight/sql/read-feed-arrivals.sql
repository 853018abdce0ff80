-- The newest arrivals of each resource of the property $2 in the bucket $1: at most $3 of each, newest first.
-- Plan: for each resource a backward index scan of feed_arrival's primary key; so it costs $3 rows, however long the feed.
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
