-- Received so far of backfill $2 in bucket $1 with requests up to $3, by resource: the sums of request summaries
-- (read-request-summaries.sql). A quarantined record resolved by an entry after $3 counts as quarantined.
-- Plan: an index scan of accept_log_backfill, and per batch of the outcomes' primary key.
select
  log.resource,
  count(*)::integer as batches,
  json_build_object(
    'records', sum(log.batch_record_count),
    'pending', coalesce(sum(log.record_count) filter (where outcome.request_id is null), 0),
    'applied', sum(letters.applied + coalesce(resolved.applied, 0)),
    'unchanged', sum(letters.unchanged + coalesce(resolved.unchanged, 0)),
    'stale', sum(letters.stale + coalesce(resolved.stale, 0)),
    'duplicate', sum(letters.duplicate + coalesce(resolved.duplicate, 0)),
    'quarantined', sum(letters.quarantined - coalesce(resolved.all, 0)),
    'discarded', coalesce(sum(resolved.discarded), 0),
    'rejected', sum(log.batch_record_count - log.record_count),
    'warned', coalesce(sum(outcome.warned_count), 0)
  ) as counts,
  count(*) filter (where outcome.request_id is null)::integer as "waitingBatches",
  min(log.request_id::text) filter (where outcome.request_id is null) as "oldestWaiting",
  min(log.request_id::text) as "firstRequest",
  max(log.request_id::text) as "lastRequest",
  encode(sha256(string_agg(log.request_id::text, ',' order by log.request_id)::bytea), 'hex') as "requestsHash"
from bellhop.accept_log as log
left join bellhop.request_outcome as outcome on outcome.bucket = log.bucket and outcome.request_id = log.request_id
{../../query/sql/parts/outcome-counts of quarantine.state <> 'q' and quarantine.resolved_by <= $3::uuid}
where log.bucket = $1::smallint and log.backfill_id = $2::uuid and log.request_id <= $3::uuid
group by log.resource
