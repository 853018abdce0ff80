-- The entries of the property $2 that have a night from $3 to $4, of those that are rows and of those that are runs of a delta: bitmap
-- scans of night_entry_short and ledger_delta_short (what is of up to 31 nights and begins from $3 - 30 to $4), of night_entry_long
-- and of ledger_delta_long. Where only what was received late is asked of the short ones, their scans are together with those of
-- night_entry_received and ledger_delta_received.
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
  with delta as (
    select * from bellhop_state.ledger_delta as t
    where property_id = $2 /* and its bucket */ and nights <= 31 /* and of short ones */
      and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
    union all
    select * from bellhop_state.ledger_delta as t
    where property_id = $2 /* and its bucket */ and nights > 31
      and first_night <= $4::date and first_night + nights > $3::date
  )
  /* part: runs-of-delta */
) as run
where first_night <= $4::date and first_night + nights > $3::date
