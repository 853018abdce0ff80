-- As write-dimensions, in the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
insert into night_dimension (bucket, property_id, dimension, status, room_type_code, booked_room_type_code,
  market_segment_code, group_block_code, rate_code, channel, currency_code)
select home.bucket, property_id, dimension, status, room_type_code, booked_room_type_code,
  market_segment_code, group_block_code, rate_code, channel, currency_code
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as named (property_id integer, dimension bigint, status text,
  room_type_code text, booked_room_type_code text, market_segment_code text, group_block_code text, rate_code text,
  channel text, currency_code text)
where home.bucket = $2
on conflict do nothing
