-- Number of unapplied batches among the $3 newest of backfill $2, and their records. Batches are applied nearly in order, so the unapplied
-- ones are the newest. Plan: index scans of accept_log_backfill and of the outcomes' primary key.
select count(*)::integer as batches, coalesce(sum(newest.record_count), 0)::integer as records
from (
  select request_id, record_count
  from bellhop.accept_log
  where bucket = $1::smallint and backfill_id = $2::uuid
  order by request_id desc
  limit $3
) as newest
where not exists (
  select from bellhop.request_outcome as outcome
  where outcome.bucket = $1::smallint and outcome.request_id = newest.request_id
)
