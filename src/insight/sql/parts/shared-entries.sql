-- The few entries that share rooms, with their first night and the night after their last clipped to the range. Plan: index
-- night_entry_shared.
select
  dimension, share_id, key as sharer, rooms, source_time, received_at,
  greatest(first_night, $3::date) as first_night, least(first_night + nights, $4::date + 1) as end_night
from bellhop_state.night_entry
where bucket = $1 and property_id = $2 and share_id is not null
  and first_night <= $4::date and first_night + nights > $3::date
