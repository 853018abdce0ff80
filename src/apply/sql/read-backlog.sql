-- The oldest unapplied parts of buckets $1, in order of receipt: at most $2 parts per log writer and bucket, and in total
-- about $3 records and $4 stored bytes. (octet_length does not detoast the body.)
-- Parts of backfill log writers yield for $5 milliseconds after receipt: they are returned only when no other part is pending,
-- up to about $6 records. Yielding parts are the last of their log writer, so each result is a prefix of each log writer.
with pending as (
  select
    part.*,
    sum(part.record_count) over receipt - part.record_count as records_before,
    sum(part.stored_bytes) over receipt - part.stored_bytes as bytes_before,
    first_value(part.yields) over receipt as all_yield
  from unnest($1::smallint[]) as owned (bucket)
  cross join {log-writers} as log_writer (log_writer_id, is_backfill)
  left join lateral ({../../platform/db/sql/cursor of owned.bucket}) as cursor on true
  cross join lateral (
    select log.bucket, log.log_writer_id, log.request_id, log.record_count, coalesce(octet_length(log.body), 0) as stored_bytes,
      log_writer.is_backfill and log.received_at > statement_timestamp() - make_interval(secs => $5::float8 / 1000) as yields
    from bellhop.accept_log as log
    where {../../platform/db/sql/beyond-cursor of owned.bucket}
    order by log.log_writer_id, log.request_id
    limit $2
  ) as part
  window receipt as (order by part.yields, part.request_id, part.bucket)
)
select
  log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource, log.client_id, log.received_at,
  log.record_count, log.target_request_id, log.target_index, log.rejections, log.backfill_id,
  encode(log.trace_context, 'hex') as trace_context, log.layout, log.body
from pending
join bellhop.accept_log as log using (bucket, log_writer_id, request_id)
where pending.yields = pending.all_yield
  and pending.records_before < case when pending.yields then $6::integer else $3::integer end and pending.bytes_before < $4
order by log.request_id, log.bucket
