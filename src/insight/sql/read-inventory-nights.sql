-- The nights from $3 on that the property $2 in the bucket $1 has inventory of, and the request that each is from: at most $4.
-- An index scan of current_record's primary key: an inventory's key is its date.
select key as night, request_id,
  extract(epoch from analytics.received_at_of(request_id))::float8 * 1000 as received_ms
from bellhop_state.current_record
where bucket = $1 and property_id = $2 and resource = 'i' and key >= $3
order by key
limit $4
