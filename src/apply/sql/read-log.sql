-- One bucket's log in order of receipt, after $2, between each log writer's positions in $3 (from_id exclusive):
-- at most $4 parts and about $5 stored bytes, of resources $6 (null: all).
-- quarantined: indexes of the records quarantined when the part was applied, even if released or discarded since.
-- (Log writer and id are compared as a row, as in src/platform/db/sql/beyond-cursor.sql.)
select
  log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource, log.received_at,
  log.target_request_id, log.target_index, log.rejections, log.layout, log.body,
  array(
    select quarantine.record_index from bellhop.quarantine
    where quarantine.bucket = $1 and quarantine.request_id = log.request_id
  ) as quarantined
from (
  select
    log.*,
    sum(coalesce(octet_length(log.body), 0)) over (order by log.request_id)
      - coalesce(octet_length(log.body), 0) as bytes_before
  from json_to_recordset($3::json) as goal (log_writer_id bigint, from_id uuid, request_id uuid)
  cross join lateral (
    select * from bellhop.accept_log as log
    where log.bucket = $1
      and (log.log_writer_id, log.request_id) > (goal.log_writer_id, greatest($2, goal.from_id))
      and (log.log_writer_id, log.request_id) <= (goal.log_writer_id, goal.request_id)
      and log.request_id > greatest($2, goal.from_id) and log.request_id <= goal.request_id
      and ($6::"char"[] is null or (log.kind in ('b', 'c') and log.resource = any ($6)))
    order by log.log_writer_id, log.request_id
    limit $4
  ) as log
) as log
where log.bytes_before < $5
order by log.request_id
limit $4
