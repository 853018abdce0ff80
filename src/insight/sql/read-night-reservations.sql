-- Reservations in any status that have night $3 (= $4), with a source time up to $5, received up to $6, by room type and the other
-- dimensions selected; segments, rate codes and currencies of one row are joined. At most $7 rows.
select
  booked.key as "reservationId", booked.share_id as "shareId", booked.status as label, booked.room_type_code as "roomType",
  booked.booked_room_type_code as "bookedRoomType", booked.group_block_code as "group", sum(booked.rooms)::float8 as rooms,
  string_agg(distinct booked.market_segment_code, ', ') filter (where booked.rooms <> 0) as "marketSegment",
  string_agg(distinct booked.rate_code, ', ') filter (where booked.rooms <> 0) as "rateCode",
  string_agg(distinct booked.currency_code, ', ') filter (where booked.rooms <> 0) as currency,
  sum(booked.room_revenue)::text as revenue
from (
  select
    entry.key, entry.share_id, kind.status, kind.room_type_code, kind.booked_room_type_code, kind.group_block_code,
    kind.market_segment_code, kind.rate_code, kind.currency_code, sum(entry.rooms) as rooms, sum(entry.room_revenue) as room_revenue
  from ({../../platform/db/analytics/sql/entries-of-nights}) as entry
  join bellhop_state.night_dimension as kind
    on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension
  where entry.bucket = $1 and entry.source_time <= $5 and entry.received_at <= $6 and coalesce(kind.cause = 'posted', true)
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9
) as booked
group by booked.key, booked.share_id, booked.status, booked.room_type_code, booked.booked_room_type_code, booked.group_block_code
having sum(booked.rooms) <> 0
order by booked.key, booked.room_type_code
limit $7
