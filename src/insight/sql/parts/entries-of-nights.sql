-- Entries of property $2 with a night from $3 to $4, in rows and in runs of deltas. Plan: bitmap scans of the indexes of short entries (up
-- to 31 nights, so with a first night from $3 - 30) and of long ones.
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from bellhop_state.night_entry as t
where property_id = $2 /* and its bucket */ and nights <= 31 {of-short-ones}
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
    where property_id = $2 /* and its bucket */ and nights <= 31 {of-short-ones}
      and first_night between $3::date - 30 and $4::date and first_night + nights > $3::date
    union all
    select * from bellhop_state.ledger_delta as t
    where property_id = $2 /* and its bucket */ and nights > 31
      and first_night <= $4::date and first_night + nights > $3::date
  )
  {../../../platform/db/analytics/sql/runs-of-delta}
) as run
where first_night <= $4::date and first_night + nights > $3::date
