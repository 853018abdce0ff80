-- Records of the requests $2 in bucket $1 that were rejected, or quarantined or discarded as of request $3, after ($4, $5), in order: at
-- most $6. A rejected record has its first reason; its key must be read from the log.
select failed.request_id as "requestId", failed.record_index as "index", failed.key, failed.outcome, failed.code, failed.message
from (
  select
    log.request_id, (rejection ->> 'index')::integer as record_index, 'rejected' as outcome, null as key,
    rejection -> 'violations' -> 0 ->> 'code' as code, rejection -> 'violations' -> 0 ->> 'message' as message
  from bellhop.accept_log as log
  cross join lateral json_array_elements(log.rejections) as rejection
  where log.bucket = $1::smallint and log.request_id = any ($2::uuid[]) and log.kind = 'b'
  union all
  select
    quarantine.request_id, quarantine.record_index,
    case when quarantine.state = 'd' and quarantine.resolved_by <= $3::uuid then 'discarded' else 'quarantined' end,
    quarantine.key, quarantine.code, quarantine.message
  from bellhop.quarantine
  where quarantine.bucket = $1::smallint and quarantine.request_id = any ($2::uuid[])
    and (quarantine.state <> 'r' or quarantine.resolved_by > $3::uuid)
) as failed
where (failed.request_id, failed.record_index) > ($4::uuid, $5::integer)
order by failed.request_id, failed.record_index
limit $6
