-- From when on the books of property $2 are known, by the reservations with the earliest nights: the night before the first departure among
-- them (earlier nights have only guests who stayed on), and their first source time and receipt. Plan: the first rows of each index.
with earliest as (
  (select key, first_night + nights as departure, source_time, received_at from bellhop_state.night_entry
    where bucket = $1 and property_id = $2 and nights <= 31 order by first_night limit 1000)
  union all
  (select key, first_night + nights, source_time, received_at from bellhop_state.night_entry
    where bucket = $1 and property_id = $2 and nights > 31 order by first_night limit 1000)
  union all
  (select key, first_night + nights, source_time, received_at from bellhop_state.ledger_delta
    where bucket = $1 and property_id = $2 and nights <= 31 order by first_night limit 1000)
  union all
  (select key, first_night + nights, source_time, received_at from bellhop_state.ledger_delta
    where bucket = $1 and property_id = $2 and nights > 31 order by first_night limit 1000)
)
select
  (min(departure) - 1)::text as night,
  to_char(min(source_time) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source,
  to_char(min(received_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as receipt
from (
  select max(departure) as departure, min(source_time) as source_time, min(received_at) as received_at from earliest group by key
) as reservation
