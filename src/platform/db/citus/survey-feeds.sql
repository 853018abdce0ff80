-- As survey-feeds. The workers answer the newest arrival of each feed, by an index-only scan of all of them; the rest is the
-- coordinator's: Citus looks up no row of a worker for each of its own.
with newest as materialized (
  select bucket, property_id, resource, max(last_request_id::text)::uuid as last_request_id
  from bellhop.feed_arrival
  group by bucket, property_id, resource
)
select expected.resource, count(*)::integer as feeds,
  count(*) filter (where late.seconds > 0)::integer as feeds_silent,
  greatest(coalesce(max(late.seconds), 0), 0)::float8 as feed_silence_longest_seconds
from newest
join bellhop.property as property on property.property_id = newest.property_id
join unnest($1::"char"[], $2::text[], $3::text[]) as expected (resource, setting, fallback)
  on expected.resource = newest.resource
{../../../operations/metrics/sql/silence}
