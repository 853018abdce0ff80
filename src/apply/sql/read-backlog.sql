-- What has been accepted and not applied, of the buckets in $1, in each unretired log writer from its cursor on: at most $2
-- parts a log writer and bucket, and of all of them those that come first up to about $3 records and $4 stored bytes. Ordered
-- by receipt. (The length of a body stands in its row; reading it does not read the body.)
-- Parts in log writers of backfills yield for $5 milliseconds after their receipt: they come only where nothing else is waiting, and
-- then up to about $6 records. Within a log writer those that yield are the last, so what comes is the beginning of each log writer.
-- The log writer is compared together with the id, and sorted by, so that only the primary key serves. Where they are equal the index of
-- ids alone would give the same order: once statistics said that few buckets have all rows, it was walked from the cursor of each
-- bucket without any to the end of the log (84,060 parts in 20 log writers of buckets: 8 s instead of 1 ms). Bounded by the id, too, for the partitions.
with pending as (
  select
    part.*,
    sum(part.record_count) over receipt - part.record_count as records_before,
    sum(part.stored_bytes) over receipt - part.stored_bytes as bytes_before,
    first_value(part.yields) over receipt as all_yield
  from unnest($1::smallint[]) as owned (bucket)
  cross join bellhop.log_writer
  left join lateral (
    select passed.request_id from apply_cursor as passed
    where passed.bucket = owned.bucket and passed.log_writer_id = log_writer.log_writer_id
    order by passed.request_id desc limit 1
  ) as cursor on true
  cross join lateral (
    select log.bucket, log.log_writer_id, log.request_id, log.record_count, coalesce(octet_length(log.body), 0) as stored_bytes,
      log_writer.is_backfill and log.received_at > statement_timestamp() - make_interval(secs => $5::float8 / 1000) as yields
    from bellhop.accept_log as log
    where log.bucket = owned.bucket
      and (log.log_writer_id, log.request_id) > (log_writer.log_writer_id, coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid))
      and (log.log_writer_id, log.request_id) <= (log_writer.log_writer_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
    order by log.log_writer_id, log.request_id
    limit $2
  ) as part
  where log_writer.retired_at is null
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
