-- Feeds that are expected to send batches, by resource: how many have ever sent one, how many are silent (their last applied batch is older
-- than the cadence of the property, of its client code or by default), and the longest silence. $1 resources, $2 setting names, $3
-- defaults.
-- Plan: per property and resource the end of feed_arrival's primary key and two lookups of settings.
select expected.resource, count(*)::integer as feeds,
  count(*) filter (where late.seconds > 0)::integer as feeds_silent,
  greatest(coalesce(max(late.seconds), 0), 0)::float8 as feed_silence_longest_seconds
from bellhop.property as property
cross join unnest($1::"char"[], $2::text[], $3::text[]) as expected (resource, setting, fallback)
cross join lateral (
  select arrival.last_request_id
  from bellhop.feed_arrival as arrival
  where arrival.bucket = property.bucket and arrival.property_id = property.property_id
    and arrival.resource = expected.resource
  order by arrival.last_request_id desc
  limit 1
) as newest
{silence}
