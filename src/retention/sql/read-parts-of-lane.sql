-- The next batches of a bucket and lane after $3, of the resources in $4.
-- (Lane and id are compared together as in src/apply/sql/read-backlog.sql.)
select bucket, lane_id::text as lane_id, request_id, kind, resource, received_at, target_request_id, target_index,
  rejections, layout, body
from bellhop.accept_log
where bucket = $1 and (lane_id, request_id) > ($2, $3) and (lane_id, request_id) <= ($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
  and request_id > $3 and kind in ('b', 'c') and resource = any ($4::"char"[])
order by accept_log.lane_id, request_id
limit $5
