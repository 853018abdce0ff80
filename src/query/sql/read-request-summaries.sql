-- The summaries of the requests $2 that belong to the client at the same position in $1, in order. Counts come from the outcome letters
-- (one per record), corrected by later releases and discards; no record is parsed.
-- Plan: per id an index scan of accept_log_client (one partition), of request_outcome's primary key and, if an outcome is q, of
-- quarantine's primary key. 201 requests of 4 parts and 400 records: 25 ms.
select
  wanted.request_id as "requestId", wanted.client_id as "clientId", request.*
from unnest($2::uuid[], $1::text[]) with ordinality as wanted (request_id, client_id, place)
cross join lateral (
  select
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
    sum(letters.applied + coalesce(resolved.applied, 0))::integer as applied,
    sum(letters.unchanged + coalesce(resolved.unchanged, 0))::integer as unchanged,
    sum(letters.stale + coalesce(resolved.stale, 0))::integer as stale,
    sum(letters.duplicate + coalesce(resolved.duplicate, 0))::integer as duplicate,
    sum(letters.quarantined - coalesce(resolved.all, 0))::integer as quarantined,
    coalesce(sum(resolved.discarded), 0)::integer as discarded
  from bellhop.accept_log as log
  left join bellhop.request_outcome as outcome on outcome.bucket = log.bucket and outcome.request_id = log.request_id
  {parts/outcome-counts of quarantine.state <> 'q'}
  where log.request_id = wanted.request_id and log.client_id = wanted.client_id and log.kind = 'b'
  having count(*) > 0
) as request
order by wanted.place
