-- Reservations that had night $3 (= $4) at any time, with a source time up to $5, received up to $6: whether they have it now, whether their
-- rooms are free, and whether a version is newer than $8; at most $7, those without the night first.
select
  entry.key as "reservationId", sum(entry.rooms) <> 0 as "hasNight",
  coalesce(sum(entry.rooms) filter (where entry.room_revenue is not null), 0) <> 0
    and coalesce(sum(entry.room_revenue), 0) = 0 as "isFree",
  coalesce(bool_or(entry.source_time > $8::timestamptz), false) as "isChanged"
from ({../../platform/db/analytics/sql/entries-of-nights}) as entry
join bellhop_state.night_dimension as kind
  on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension
where entry.bucket = $1 and entry.source_time <= $5 and entry.received_at <= $6 and coalesce(kind.cause = 'posted', true)
group by entry.key
order by 2, entry.key
limit $7
