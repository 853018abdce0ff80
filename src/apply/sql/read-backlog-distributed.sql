-- As read-backlog, of the bucket $1 in the lanes $5, which are rows of the coordinator.
with pending as (
  select
    part.*,
    sum(part.record_count) over receipt - part.record_count as records_before,
    sum(part.stored_bytes) over receipt - part.stored_bytes as bytes_before
  from unnest($5::bigint[]) as lane (lane_id)
  left join lateral (
    select passed.request_id from apply_cursor as passed
    where passed.bucket = $1::smallint and passed.lane_id = lane.lane_id
    order by passed.request_id desc limit 1
  ) as cursor on true
  cross join lateral (
    select log.bucket, log.lane_id, log.request_id, log.record_count, coalesce(octet_length(log.body), 0) as stored_bytes
    from bellhop.accept_log as log
    where log.bucket = $1::smallint and log.lane_id = lane.lane_id
      and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
    order by log.request_id
    limit $2
  ) as part
  window receipt as (order by part.request_id)
)
select
  log.bucket, log.lane_id::text as lane_id, log.request_id, log.kind, log.resource, log.client_id, log.received_at,
  log.record_count, log.target_request_id, log.target_index, log.rejections, log.layout, log.body
from pending
join bellhop.accept_log as log using (bucket, lane_id, request_id)
where pending.records_before < $3 and pending.bytes_before < $4 and log.bucket = $1::smallint
order by log.request_id
