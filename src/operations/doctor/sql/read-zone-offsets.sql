-- Of the time zones $1: their offsets from UTC in minutes at the instants $2 (seconds since 1970) by the server's time zone data; null if
-- it does not know the zone.
with known as materialized (
  select lower(name) as name from pg_timezone_names
)
select
  zone.name as zone,
  case when exists (select from known where known.name = lower(zone.name)) then (
    select array_agg(
      (extract(epoch from (to_timestamp(at.seconds) at time zone zone.name)) - at.seconds)::integer / 60
      order by at.position
    )
    from unnest($2::float8[]) with ordinality as at (seconds, position)
  ) end as minutes
from unnest($1::text[]) as zone (name)
