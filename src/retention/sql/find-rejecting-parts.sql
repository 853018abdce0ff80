-- The next batches after $1 that had rejected records; those lie in one part of each.
select bucket, lane_id::text as lane_id, request_id, kind, resource, received_at, target_request_id, target_index,
  rejections, layout, body
from bellhop.accept_log
where request_id > $1 and rejections is not null
order by request_id
limit $2
