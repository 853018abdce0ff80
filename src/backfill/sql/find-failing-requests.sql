-- The next $6 requests of the backfill $2 in the bucket $1, of the resource $3 and up to $4, from the id $5 on, that have a record
-- which was rejected or held.
select log.request_id
from bellhop.accept_log as log
left join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = log.request_id
where log.bucket = $1::smallint and log.backfill_id = $2::uuid and log.resource = $3::"char"
  and log.request_id <= $4::uuid and log.request_id >= $5::uuid
  and (log.batch_record_count > log.record_count or position('q' in outcome.outcomes) > 0)
order by log.request_id
limit $6
