-- The entries of the property $2 that have a night from $3 to $4 and, where they are of up to 31 nights or of an exchange that is, were
-- received after $10: scans as of entries-of-nights, those of the short ones together with night_entry_received and
-- night_exchange_received where $10 is late.
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights <= 31 and received_at > $10
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
    where property_id = $2 /* and its bucket */ and nights <= 31 and received_at > $10
      and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
    union all
    select * from bellhop_state.night_exchange as t
    where property_id = $2 /* and its bucket */ and nights > 31
      and first_night <= $4::date and first_night + nights > $3::date
  )
  /* part: runs-of-exchange */
) as run
where first_night <= $4::date and first_night + nights > $3::date
