-- As read-request-summaries, as one join of all the requests, which each worker makes of its buckets. Citus puts the parts of
-- a request together; their order is the caller's matter.
select
  log.request_id as "requestId",
  min(log.client_id) as "clientId",
  min(log.resource::text) as resource,
  min(log.correlation_id) as "correlationId",
  min(log.reply_to) as "replyTo",
  min(log.backfill_id::text) as "backfillId",
  bool_or(log.lenient) as lenient,
  case when count(outcome.bucket) = max(log.batch_part_count) then max(outcome.applied_at) end as "appliedAt",
  array_agg(log.bucket) as buckets,
  max(log.batch_record_count) as records,
  (max(log.batch_record_count) - sum(log.record_count))::integer as rejected,
  coalesce(sum(outcome.warned_count), 0)::integer as warned,
  coalesce(sum(outcome.applied + coalesce(resolved.applied, 0)), 0)::integer as applied,
  coalesce(sum(outcome.unchanged + coalesce(resolved.unchanged, 0)), 0)::integer as unchanged,
  coalesce(sum(outcome.stale + coalesce(resolved.stale, 0)), 0)::integer as stale,
  coalesce(sum(outcome.duplicate + coalesce(resolved.duplicate, 0)), 0)::integer as duplicate,
  coalesce(sum(outcome.quarantined - coalesce(resolved.all, 0)), 0)::integer as quarantined,
  coalesce(sum(resolved.discarded), 0)::integer as discarded
from bellhop.accept_log as log
left join (
  select
    bucket, request_id, applied_at, warned_count,
    length(outcomes) - length(replace(outcomes, 'a', '')) as applied,
    length(outcomes) - length(replace(outcomes, 'u', '')) as unchanged,
    length(outcomes) - length(replace(outcomes, 's', '')) as stale,
    length(outcomes) - length(replace(outcomes, 'd', '')) as duplicate,
    length(outcomes) - length(replace(outcomes, 'q', '')) as quarantined
  from bellhop.request_outcome
  where request_id = any ($2::uuid[])
) as outcome on outcome.bucket = log.bucket and outcome.request_id = log.request_id
left join (
  select
    bucket, request_id,
    count(*) as all,
    count(*) filter (where outcome = 'a') as applied,
    count(*) filter (where outcome = 'u') as unchanged,
    count(*) filter (where outcome = 's') as stale,
    count(*) filter (where outcome = 'd') as duplicate,
    count(*) filter (where outcome = 'x') as discarded
  from bellhop.quarantine
  where state <> 'q' and request_id = any ($2::uuid[])
  group by bucket, request_id
) as resolved on resolved.bucket = log.bucket and resolved.request_id = log.request_id
where log.request_id = any ($2::uuid[]) and log.client_id = any ($1::text[]) and log.kind = 'b'
group by log.request_id
