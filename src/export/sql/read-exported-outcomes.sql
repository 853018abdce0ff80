-- Outcome counts of each batch in bucket $1, received from request $2 on, and of earlier ones with records released or discarded since.
select
  log.request_id, log.bucket, log.client_id, log.resource, outcome.applied_at::text, log.batch_record_count, log.record_count,
  letters.applied + coalesce(resolved.applied, 0), letters.unchanged + coalesce(resolved.unchanged, 0),
  letters.stale + coalesce(resolved.stale, 0), letters.duplicate + coalesce(resolved.duplicate, 0),
  letters.quarantined - coalesce(resolved.all, 0), coalesce(resolved.discarded, 0)
from (
  select request_id from bellhop.request_outcome where bucket = $1::smallint and request_id >= $2::uuid
  union
  select request_id from bellhop.quarantine where bucket = $1 and resolved_by >= $2
) as wanted
join bellhop.accept_log as log on log.bucket = $1 and log.request_id = wanted.request_id and log.kind = 'b'
join bellhop.request_outcome as outcome on outcome.bucket = $1 and outcome.request_id = wanted.request_id
{../../query/sql/parts/outcome-counts of quarantine.state <> 'q'}
order by log.request_id
