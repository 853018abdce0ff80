-- As write-room-types, in the bucket $2. Made from the bucket's own row, so that Citus hands it whole to the worker.
insert into known_room_type (bucket, property_id, room_type_code)
select home.bucket, named.property_id, named.room_type_code
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as named (property_id integer, room_type_code text)
where home.bucket = $2
on conflict do nothing
