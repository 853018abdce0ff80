-- The entries of the property $2 that have a night from $3 to $4, of those that are rows and of those that are runs of an exchange: bitmap
-- scans of night_entry_short and night_exchange_short (what is of up to 31 nights and begins from $3 - 30 to $4), of night_entry_long
-- and of night_exchange_long. Where only what was received late is asked of the short ones, their scans are together with those of
-- night_entry_received and night_exchange_received.
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights <= 31 /* and of short ones */
  and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
union all
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights > 31
  and first_night <= $4::date and first_night + nights > $3::date
union all
select * from (
  with exchange as (
    select * from bellhop_state.night_exchange as t
    where property_id = $2 /* and its bucket */ and nights <= 31 /* and of short ones */
      and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
    union all
    select * from bellhop_state.night_exchange as t
    where property_id = $2 /* and its bucket */ and nights > 31
      and first_night <= $4::date and first_night + nights > $3::date
  )
  /* part: runs-of-exchange */
) as run
where first_night <= $4::date and first_night + nights > $3::date
