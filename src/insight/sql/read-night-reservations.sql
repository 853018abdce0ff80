-- Reservations in any status that have night $3 (= $4), with a source time up to $5, received up to $6, by room type and the other
-- dimensions selected; at most $7 rows.
select
  entry.key as "reservationId", entry.share_id as "shareId", kind.status as label, kind.room_type_code as "roomType",
  kind.booked_room_type_code as "bookedRoomType", kind.group_block_code as "group", sum(entry.rooms)::float8 as rooms
from ({../../platform/db/analytics/sql/entries-of-nights}) as entry
join bellhop_state.night_dimension as kind
  on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension
where entry.bucket = $1 and entry.source_time <= $5 and entry.received_at <= $6 and coalesce(kind.cause = 'posted', true)
group by entry.key, entry.share_id, kind.status, kind.room_type_code, kind.booked_room_type_code, kind.group_block_code
having sum(entry.rooms) <> 0
order by entry.key, kind.room_type_code
limit $7
