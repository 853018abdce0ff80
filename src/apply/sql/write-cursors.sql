insert into apply_cursor (bucket, lane_id, request_id)
select bucket, lane_id, request_id
from json_to_recordset($1::json) as position (bucket smallint, lane_id bigint, request_id uuid)
on conflict (bucket, lane_id) do update set request_id = excluded.request_id
