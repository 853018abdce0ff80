-- What has arrived of the backfill $2 in the bucket $1 with requests up to $3, by resource: the sums of request summaries
-- (read-request-summaries.sql). A quarantined record that was resolved by an entry after $3 counts as quarantined.
-- An index scan of accept_log_backfill, and for each batch of the outcomes' primary key.
select
  batch.resource,
  count(*)::integer as batches,
  json_build_object(
    'records', sum(batch.batch_record_count),
    'pending', coalesce(sum(batch.record_count) filter (where outcome.request_id is null), 0),
    'applied', coalesce(sum(outcome.applied + coalesce(resolved.applied, 0)), 0),
    'unchanged', coalesce(sum(outcome.unchanged + coalesce(resolved.unchanged, 0)), 0),
    'stale', coalesce(sum(outcome.stale + coalesce(resolved.stale, 0)), 0),
    'duplicate', coalesce(sum(outcome.duplicate + coalesce(resolved.duplicate, 0)), 0),
    'quarantined', coalesce(sum(outcome.quarantined - coalesce(resolved.all, 0)), 0),
    'discarded', coalesce(sum(resolved.discarded), 0),
    'rejected', sum(batch.batch_record_count - batch.record_count),
    'warned', coalesce(sum(outcome.warned_count), 0)
  ) as counts,
  count(*) filter (where outcome.request_id is null)::integer as "waitingBatches",
  min(batch.request_id::text) filter (where outcome.request_id is null) as "oldestWaiting",
  min(batch.request_id::text) as "firstRequest",
  max(batch.request_id::text) as "lastRequest",
  encode(sha256(string_agg(batch.request_id::text, ',' order by batch.request_id)::bytea), 'hex') as "requestsHash"
from bellhop.accept_log as batch
left join lateral (
  select
    request_id, warned_count,
    length(outcomes) - length(replace(outcomes, 'a', '')) as applied,
    length(outcomes) - length(replace(outcomes, 'u', '')) as unchanged,
    length(outcomes) - length(replace(outcomes, 's', '')) as stale,
    length(outcomes) - length(replace(outcomes, 'd', '')) as duplicate,
    length(outcomes) - length(replace(outcomes, 'q', '')) as quarantined
  from bellhop.request_outcome as written
  where written.bucket = $1::smallint and written.request_id = batch.request_id
) as outcome on true
left join lateral (
  select
    count(*) as all,
    count(*) filter (where quarantine.outcome = 'a') as applied,
    count(*) filter (where quarantine.outcome = 'u') as unchanged,
    count(*) filter (where quarantine.outcome = 's') as stale,
    count(*) filter (where quarantine.outcome = 'd') as duplicate,
    count(*) filter (where quarantine.outcome = 'x') as discarded
  from bellhop.quarantine
  where quarantine.bucket = $1::smallint and quarantine.request_id = batch.request_id
    and quarantine.state <> 'q' and quarantine.resolved_by <= $3::uuid
) as resolved on outcome.quarantined > 0
where batch.bucket = $1::smallint and batch.backfill_id = $2::uuid and batch.request_id <= $3::uuid
group by batch.resource
