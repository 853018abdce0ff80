with {counted-entries},
counted as materialized (
  select property_id, dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
    channel, currency_code, own_currency_code, key, share_id, first_night + passed as night,
    sum(rooms) as rooms, sum(adults) as adults, sum(children) as children, sum(room_revenue) as room_revenue,
    sum(gross_room_revenue) as gross_room_revenue, coalesce(sum(rooms) filter (where room_revenue is not null), 0) as priced_rooms,
    coalesce(sum(rooms) filter (where gross_room_revenue is not null), 0) as gross_priced_rooms
  from entry
  cross join lateral generate_series(0, end_night - first_night - 1) as passed
  group by property_id, dimension, status, room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
    channel, currency_code, own_currency_code, key, share_id, first_night + passed
),
-- The first sharer has as many rooms as the most that any names; those beyond its own count in its first kind of stay, as in
-- src/insight/sql/parts/settled-shares.sql.
sharer as (
  select property_id, share_id, night, key, dimension, sum(rooms) over own as named, min(key) over shared as holder,
    row_number() over (own order by room_type_code, booked_room_type_code, market_segment_code, group_block_code, rate_code,
      channel, own_currency_code, dimension) as place
  from counted
  where share_id is not null and rooms <> 0
  window shared as (partition by property_id, share_id, night), own as (partition by property_id, share_id, night, key)
),
settled as (
  select property_id, share_id, night, key, dimension,
    case when key <> holder then -named when place = 1 then max(named) over (partition by property_id, share_id, night) - named
      else 0 end as more, key = holder as has_rooms
  from sharer
)
select property.client_code, property.property_code, counted.night, counted.key, counted.share_id, counted.status,
  counted.room_type_code, counted.booked_room_type_code, counted.market_segment_code, counted.group_block_code,
  counted.rate_code, counted.channel, counted.currency_code,
  case when settled.has_rooms is false then 0 else counted.rooms + coalesce(settled.more, 0) end::integer,
  counted.adults::integer, counted.children::integer,
  case when counted.priced_rooms <> 0 or counted.room_revenue <> 0 then trim_scale(counted.room_revenue) end,
  case when counted.gross_priced_rooms <> 0 or counted.gross_room_revenue <> 0 then trim_scale(counted.gross_room_revenue) end
from counted
join property using (property_id)
left join settled using (property_id, share_id, night, key, dimension)
where counted.rooms <> 0 or counted.adults <> 0 or counted.children <> 0 or counted.room_revenue <> 0 or counted.gross_room_revenue <> 0
