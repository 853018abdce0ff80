-- Makes those cursors in the bucket $2 that there are not yet. Made from the bucket's own row, so that Citus hands it whole
-- to the worker.
insert into apply_cursor (bucket, lane_id, request_id)
select home.bucket, position.lane_id, position.request_id
from bellhop.bucket_lease as home
cross join json_to_recordset($1::json) as position (lane_id bigint, request_id uuid)
where home.bucket = $2 and not exists (
  select from apply_cursor as cursor where cursor.bucket = $2 and cursor.lane_id = position.lane_id
)
