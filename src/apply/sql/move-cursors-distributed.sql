-- Moves those cursors of the bucket $2 that there are; write-cursors-distributed makes the others.
update apply_cursor as cursor set request_id = position.request_id
from json_to_recordset($1::json) as position (lane_id bigint, request_id uuid)
where cursor.bucket = $2 and cursor.lane_id = position.lane_id
