-- Entries of properties with a night of a range, in rows and in runs of deltas. Plan: bitmap scans of the indexes of short entries (up to 31
-- nights, so with a first night from 30 nights before the range) and of long ones.
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from {night-entry} as t
where {of-properties} and nights <= 31 {of-short-ones}
  and first_night between {first} - 30 and {last} and first_night + nights > {first}
union all
select
  source_time, received_at, dimension, property_id, first_night, nights, rooms, adults, children, bucket, room_revenue,
  gross_room_revenue, key, share_id
from {night-entry} as t
where {of-properties} and nights > 31
  and first_night <= {last} and first_night + nights > {first}
union all
select * from (
  with delta as (
    select * from {ledger-delta} as t
    where {of-properties} and nights <= 31 {of-short-ones}
      and first_night between {first} - 30 and {last} and first_night + nights > {first}
    union all
    select * from {ledger-delta} as t
    where {of-properties} and nights > 31
      and first_night <= {last} and first_night + nights > {first}
  )
  {runs-of-delta}
) as run
where first_night <= {last} and first_night + nights > {first}
