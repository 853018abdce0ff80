-- The reservations that have the night $3, whatever their label: of what has a source time up to $4 and was received up to $5,
-- at most $7, after the reservation $6, by room type and whatever else is asked of a dimension.
-- Plan: bitmap scans of night_entry_short and ledger_delta_short (first nights from $3 - 30 to $3) and of the long ones.
select
  entry.key, entry.share_id, kind.status as label, kind.room_type_code as room_type,
  kind.booked_room_type_code as booked_room_type, kind.group_block_code as block_group, sum(entry.rooms)::float8 as rooms
from (
  select key, share_id, dimension, rooms
  from bellhop_state.night_entry
  where bucket = $1 and property_id = $2 and nights <= 31
    and first_night between $3::date - 30 and $3::date and first_night + nights > $3::date
    and source_time <= $4 and received_at <= $5
  union all
  select key, share_id, dimension, rooms
  from bellhop_state.night_entry
  where bucket = $1 and property_id = $2 and nights > 31
    and first_night <= $3::date and first_night + nights > $3::date
    and source_time <= $4 and received_at <= $5
  union all
  select key, share_id, dimension, rooms
  from (
    with delta as (
      select * from bellhop_state.ledger_delta
      where bucket = $1 and property_id = $2 and nights <= 31
        and first_night between $3::date - 30 and $3::date and first_night + nights > $3::date
        and source_time <= $4 and received_at <= $5
      union all
      select * from bellhop_state.ledger_delta
      where bucket = $1 and property_id = $2 and nights > 31
        and first_night <= $3::date and first_night + nights > $3::date
        and source_time <= $4 and received_at <= $5
    )
    /* part: runs-of-delta */
  ) as run
  where first_night <= $3::date and first_night + nights > $3::date
) as entry
join bellhop_state.night_dimension as kind
  on kind.bucket = $1 and kind.property_id = $2 and kind.dimension = entry.dimension
where entry.key > $6
group by entry.key, entry.share_id, kind.status, kind.room_type_code, kind.booked_room_type_code, kind.group_block_code
having sum(entry.rooms) <> 0
order by entry.key, kind.room_type_code
limit $7
