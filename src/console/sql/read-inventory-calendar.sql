-- The nights from $3 to $4 that have inventory. An index scan of current_record's primary key: the key is the date.
select key, request_id as "requestId",
  to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime"
from bellhop_state.current_record
where bucket = $1 and property_id = $2 and resource = 'i' and key >= $3 and key <= $4
order by key
limit 1000
