-- From when on the books of property $2 are known: the night before its first departure, and its first source time and receipt.
select
  (departure - 1)::text as night,
  to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source,
  to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as receipt
from bellhop_state.known_books
where bucket = $1 and property_id = $2
