-- Feeds of which batches are expected, by resource: how many ever came, how many are silent by the rule of feed health (the last
-- batch that is applied is longer ago than the cadence of the property, else of its client code, else the default), and for
-- how long the most silent of them has been. $1 resources, $2 the settings' names, $3 their defaults.
-- For each property and resource the end of feed_arrival's primary key and two look-ups of settings.
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
