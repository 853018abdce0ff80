insert into known_room_type (bucket, property_id, room_type_code)
select bucket, property_id, room_type_code
from json_to_recordset($1::json) as named (bucket smallint, property_id integer, room_type_code text)
on conflict do nothing
