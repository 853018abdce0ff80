-- Arrivals, departures and stay-throughs of the nights from $3 + 1 to $4, by currency (default $10), and rooms cancelled and not shown on
-- them, with a source time up to $5, received up to $6; at most $13 rows. Statuses: $7 deduct, $8 are cancelled, $9 no-shows. Days end $12
-- minutes after midnight in time zone $11. Each reservation or share is compared with itself on the night before.
with kind as materialized (
  select dimension, coalesce(currency_code, $10) as currency,
    case when status = any ($7::text[]) then 'books' when status = any ($8::text[]) then 'cancelled' else 'no-show' end as state
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status = any ($7::text[] || $8::text[] || $9::text[])
    and coalesce(cause = 'posted', true)
),
entry as materialized (
  select
    kind.state, kind.currency, stored.key, stored.share_id, stored.rooms, stored.room_revenue, stored.source_time,
    greatest(stored.first_night, $3::date) as first_night, least(stored.first_night + stored.nights, $4::date + 1) as end_night
  from ({parts/entries-of-nights}) as stored
  join kind using (dimension)
  where stored.bucket = $1 and stored.source_time <= $5 and stored.received_at <= $6
),
of_night as materialized (
  select state, currency, share_id, key, first_night + passed as night, sum(rooms) as rooms, sum(room_revenue) as room_revenue,
    count(room_revenue) as priced, min(source_time) filter (where rooms > 0) as since
  from entry
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by state, currency, share_id, key, first_night + passed
),
-- A reservation, or a share with as many rooms as the most that any member has.
unit as materialized (
  select state, share_id, night, own, min(currency) as currency, min(key) as key, max(rooms) as rooms, min(since) as since
  from (
    select state, share_id, night, case when share_id is null then key end as own, min(currency) as currency, key, sum(rooms) as rooms,
      min(since) as since
    from of_night
    group by state, share_id, night, key
    having sum(rooms) <> 0
  ) as member
  group by state, share_id, night, own
),
edge as (
  select share_id, own, night, sum(now) as now, sum(before) as before, coalesce(min(currency) filter (where now > 0), min(currency)) as currency,
    min(key) filter (where now > 0) as key
  from (
    select share_id, own, night, currency, key, rooms as now, 0 as before from unit where state = 'books'
    union all
    select share_id, own, night + 1, currency, key, 0, rooms from unit where state = 'books'
  ) as side
  where night between $3::date + 1 and $4::date
  group by share_id, own, night
),
arrival as (
  select edge.currency, edge.night, edge.now - edge.before as rooms, version.to_date - edge.night as stay,
    edge.night - (facts.booking_time at time zone $11 - make_interval(mins => $12))::date as lead
  from edge
  left join lateral (
    select newest.to_date, newest.facts_source_time, newest.content_hash
    from bellhop_state.reservation_version as newest
    where newest.bucket = $1 and newest.property_id = $2 and newest.key = edge.key
      and newest.source_time <= $5 and newest.request_id < analytics.first_request_id_after($6)
    order by newest.source_time desc, newest.request_id desc, newest.record_index desc
    limit 1
  ) as version on true
  left join analytics.stored_reservation_version as facts
    on facts.bucket = $1 and facts.property_id = $2 and facts.key = edge.key
    and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
  where edge.now > edge.before
),
part as (
  select currency, night, greatest(now - before, 0) as arrivals, greatest(before - now, 0) as departures, least(now, before) as stay_throughs,
    0 as cancelled, null::numeric as cancelled_revenue, 0 as cancelled_days, 0 as no_shows, null::numeric as no_show_revenue,
    0 as stay_rooms, 0 as stay_nights, 0 as lead_rooms, 0 as lead_days
  from edge
  union all
  select currency, night, 0, 0, 0, case when state = 'cancelled' then rooms else 0 end, null,
    case when state = 'cancelled' then rooms * (night - (since at time zone $11 - make_interval(mins => $12))::date) else 0 end,
    case when state = 'no-show' then rooms else 0 end, null, 0, 0, 0, 0
  from unit where state <> 'books' and night > $3::date
  union all
  select currency, night, 0, 0, 0, 0, case when state = 'cancelled' then sum(room_revenue) end, 0, 0,
    case when state = 'no-show' then sum(room_revenue) end, 0, 0, 0, 0
  from of_night where state <> 'books' and night > $3::date and room_revenue <> 0
  group by state, currency, night
  union all
  select currency, night, 0, 0, 0, 0, null, 0, 0, null, case when stay is null then 0 else rooms end, coalesce(rooms * stay, 0),
    case when lead is null then 0 else rooms end, coalesce(rooms * lead, 0)
  from arrival
)
select
  night::text as night, null::text as unit, currency, sum(arrivals)::float8 as arrivals, sum(departures)::float8 as departures,
  sum(stay_throughs)::float8 as "stayThroughs", sum(cancelled)::float8 as cancelled, sum(cancelled_revenue)::text as "cancelledRevenue",
  sum(cancelled_days)::text as "cancelledDays", sum(no_shows)::float8 as "noShows", sum(no_show_revenue)::text as "noShowRevenue",
  sum(stay_rooms)::float8 as "stayRooms", sum(stay_nights)::text as "stayNights", sum(lead_rooms)::float8 as "leadRooms",
  sum(lead_days)::text as "leadDays"
from part
group by night, currency
having sum(arrivals) <> 0 or sum(departures) <> 0 or sum(stay_throughs) <> 0 or sum(cancelled) <> 0 or sum(no_shows) <> 0
order by night, currency
limit $13
