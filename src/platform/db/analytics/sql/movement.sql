with {counted-entries},
of_night as materialized (
  select property_id, state, currency_code, share_id, key, first_night + passed as night, sum(rooms) as rooms,
    sum(room_revenue) as room_revenue, min(source_time) filter (where rooms > 0) as since
  from entry
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by property_id, state, currency_code, share_id, key, first_night + passed
),
-- A reservation, or a share with as many rooms as the most that any member has.
unit as materialized (
  select property_id, state, share_id, night, own, min(currency_code) as currency_code, min(key) as key, max(rooms) as rooms,
    min(since) as since
  from (
    select property_id, state, share_id, night, case when share_id is null then key end as own, min(currency_code) as currency_code,
      key, sum(rooms) as rooms, min(since) as since
    from of_night
    group by property_id, state, share_id, night, key
    having sum(rooms) <> 0
  ) as member
  group by property_id, state, share_id, night, own
),
edge as materialized (
  select property_id, share_id, own, night, sum(rooms) as rooms, sum(before) as before,
    coalesce(min(currency_code) filter (where rooms > 0), min(currency_code)) as currency_code, min(key) filter (where rooms > 0) as key
  from (
    select property_id, share_id, own, night, currency_code, key, rooms, 0 as before from unit where state = 'books'
    union all
    select property_id, share_id, own, night + 1, currency_code, key, 0, rooms from unit where state = 'books'
  ) as side
  where night between {first} + 1 and {last}
  group by property_id, share_id, own, night
),
arrival as (
  select edge.property_id, edge.currency_code, edge.night, edge.rooms - edge.before as rooms, version.to_date - edge.night as stay,
    edge.night - (facts.booking_time at time zone property.time_zone - property.day_end)::date as lead
  from edge
  join property using (property_id)
  left join lateral (
    select newest.to_date, newest.facts_source_time, newest.content_hash
    from analytics.stored_reservation_range as newest
    where newest.bucket = property.bucket and newest.property_id = edge.property_id and newest.key = edge.key
      {and-home of newest}
      and case clock
        when 'source' then newest.source_time <= instant
        else newest.request_id < analytics.first_request_id_after(instant)
      end
    order by newest.source_time desc, newest.request_id desc, newest.record_index desc
    limit 1
  ) as version on true
  -- With a limit, so that it is looked up by key even where nested loops are disabled.
  left join lateral (
    select stored.booking_time
    from analytics.stored_reservation_version as stored
    where stored.bucket = property.bucket and stored.property_id = edge.property_id and stored.key = edge.key
      and stored.source_time = version.facts_source_time and stored.content_hash = version.content_hash
      {and-home of stored}
    limit 1
  ) as facts on true
  where edge.rooms > edge.before
),
part as (
  select property_id, currency_code, night, greatest(rooms - before, 0) as arrivals, greatest(before - rooms, 0) as departures,
    least(rooms, before) as stay_throughs, 0 as cancelled, null::numeric as cancelled_revenue, 0 as cancelled_days, 0 as no_shows,
    null::numeric as no_show_revenue, 0 as stay_rooms, 0 as stay_nights, 0 as lead_rooms, 0 as lead_days
  from edge
  union all
  select property_id, unit.currency_code, night, 0, 0, 0, case when state = 'cancelled' then rooms else 0 end, null,
    case when state = 'cancelled' then rooms * (night - (since at time zone property.time_zone - property.day_end)::date) else 0 end,
    case when state = 'no-show' then rooms else 0 end, null, 0, 0, 0, 0
  from unit
  join property using (property_id)
  where state <> 'books' and night > {first}
  union all
  select property_id, currency_code, night, 0, 0, 0, 0, case when state = 'cancelled' then sum(room_revenue) end, 0, 0,
    case when state = 'no-show' then sum(room_revenue) end, 0, 0, 0, 0
  from of_night where state <> 'books' and night > {first} and room_revenue <> 0
  group by property_id, state, currency_code, night
  union all
  select property_id, currency_code, night, 0, 0, 0, 0, null, 0, 0, null, case when stay is null then 0 else rooms end,
    coalesce(rooms * stay, 0), case when lead is null then 0 else rooms end, coalesce(rooms * lead, 0)
  from arrival
),
total as (
  select property_id, night, currency_code, sum(arrivals) as arrivals, sum(departures) as departures,
    sum(stay_throughs) as stay_throughs, sum(cancelled) as cancelled, sum(cancelled_revenue) as cancelled_revenue,
    sum(cancelled_days) as cancelled_days, sum(no_shows) as no_shows, sum(no_show_revenue) as no_show_revenue,
    sum(stay_rooms) as stay_rooms, sum(stay_nights) as stay_nights, sum(lead_rooms) as lead_rooms, sum(lead_days) as lead_days,
    nullif(sum(arrivals) + sum(stay_throughs) + sum(cancelled) + sum(no_shows), 0) as booked
  from part
  group by property_id, night, currency_code
  having sum(arrivals) <> 0 or sum(departures) <> 0 or sum(stay_throughs) <> 0 or sum(cancelled) <> 0 or sum(no_shows) <> 0
)
select property.client_code, property.property_code, total.night, total.currency_code, arrivals::integer, departures::integer,
  stay_throughs::integer, round(stay_nights / nullif(stay_rooms, 0), 2), round(lead_days / nullif(lead_rooms, 0), 2),
  cancelled::integer, trim_scale(cancelled_revenue), round(cancelled_days / nullif(cancelled, 0), 2), round(cancelled / booked, 4),
  no_shows::integer, trim_scale(no_show_revenue), round(no_shows / booked, 4),
  stay_rooms::integer, stay_nights::bigint, lead_rooms::integer, lead_days::bigint, cancelled_days::bigint
from total
join property using (property_id)
