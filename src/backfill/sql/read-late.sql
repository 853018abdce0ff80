-- Batches of the backfill $2 in the bucket $1 after the request $3, and those up to it that are not applied.
select
  count(*) filter (where batch.request_id > $3::uuid)::integer as late,
  count(*) filter (where batch.request_id <= $3::uuid and outcome.request_id is null)::integer as waiting
from bellhop.accept_log as batch
left join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = batch.request_id
where batch.bucket = $1::smallint and batch.backfill_id = $2::uuid
