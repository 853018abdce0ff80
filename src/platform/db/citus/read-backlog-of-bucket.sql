-- As read-backlog, of the bucket $1 in the log writers $5, which are rows of the coordinator; $6 says of each whether it is one of
-- backfills, whose parts yield for $7 milliseconds and come up to about $8 records.
with pending as (
  select
    part.*,
    sum(part.record_count) over receipt - part.record_count as records_before,
    sum(part.stored_bytes) over receipt - part.stored_bytes as bytes_before,
    first_value(part.yields) over receipt as all_yield
  from unnest($5::bigint[], $6::boolean[]) as log_writer (log_writer_id, is_backfill)
  left join lateral ({../sql/cursor of $1::smallint}) as cursor on true
  cross join lateral (
    select log.bucket, log.log_writer_id, log.request_id, log.record_count, coalesce(octet_length(log.body), 0) as stored_bytes,
      log_writer.is_backfill and log.received_at > statement_timestamp() - make_interval(secs => $7::float8 / 1000) as yields
    from bellhop.accept_log as log
    where {../sql/beyond-cursor of $1::smallint}
    order by log.log_writer_id, log.request_id
    limit $2
  ) as part
  window receipt as (order by part.yields, part.request_id)
)
select
  log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource, log.client_id, log.received_at,
  log.record_count, log.target_request_id, log.target_index, log.rejections, log.backfill_id,
  encode(log.trace_context, 'hex') as trace_context, log.layout, log.body
from pending
join bellhop.accept_log as log using (bucket, log_writer_id, request_id)
where pending.yields = pending.all_yield
  and pending.records_before < case when pending.yields then $8::integer else $3::integer end and pending.bytes_before < $4
  and log.bucket = $1::smallint
order by log.request_id
