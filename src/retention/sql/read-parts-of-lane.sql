-- The next batches of a bucket and lane after $3, of the resources in $4.
select bucket, lane_id::text as lane_id, request_id, kind, resource, received_at, target_request_id, target_index,
  rejections, layout, body
from bellhop.accept_log
where bucket = $1 and lane_id = $2 and request_id > $3 and kind in ('b', 'c') and resource = any ($4::"char"[])
order by request_id
limit $5
