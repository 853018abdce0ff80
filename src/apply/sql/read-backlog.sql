-- The oldest unapplied parts of buckets $1, in order of receipt: at most $2 parts per log writer and bucket, and about $3 records and
-- $4 stored bytes of the log writers that yield, and of the others. (octet_length does not detoast the body.)
-- Parts of log writers that yield do so for $5 milliseconds after receipt: they are returned only when no other part is pending,
-- up to about $6 records. Yielding parts are the last of their log writer, so each result is a prefix of each log writer.
-- Of such a log writer, parts with more than $7 records or $8 stored bytes are applied in pieces: they come without their body, with
-- what the pieces so far have done.
with pending as (
  select
    part.*,
    log_writer.yields as of_yielding,
    sum(part.records_now) over receipt - part.records_now as records_before,
    sum(part.bytes_now) over receipt - part.bytes_now as bytes_before,
    bool_and(part.yields) over () as all_yield
  from unnest($1::smallint[]) as owned (bucket)
  cross join {log-writers} as log_writer (log_writer_id, yields)
  left join lateral ({../../platform/db/sql/cursor of owned.bucket}) as cursor on true
  cross join lateral (
    select log.bucket, log.log_writer_id, log.request_id, size.in_pieces,
      case when size.in_pieces then least(log.record_count, $7) else log.record_count end as records_now,
      case when size.in_pieces then 0 else size.stored_bytes end as bytes_now,
      log_writer.yields and log.received_at > statement_timestamp() - make_interval(secs => $5::float8 / 1000) as yields
    from bellhop.accept_log as log
    cross join lateral (
      select
        octets.stored_bytes,
        log_writer.yields and (
          log.record_count > $7::integer or octets.stored_bytes > $8::integer
          -- An erasure may have made its body smaller since its first piece.
          or exists (select from bellhop.applied_piece as piece where piece.bucket = log.bucket and piece.request_id = log.request_id)
        ) as in_pieces
      from (select coalesce(octet_length(log.body), 0) as stored_bytes) as octets
    ) as size
    where {../../platform/db/sql/beyond-cursor of owned.bucket}
    order by log.log_writer_id, log.request_id
    limit $2
  ) as part
  window receipt as (partition by log_writer.yields order by part.request_id, part.bucket)
)
select
  log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource, log.client_id, log.received_at,
  log.record_count, log.target_request_id, log.target_index, log.rejections, log.backfill_id,
  encode(log.trace_context, 'hex') as trace_context, log.layout, case when not pending.in_pieces then log.body end as body,
  pending.of_yielding, done.until_record, done.warnings_listed
from pending
join bellhop.accept_log as log using (bucket, log_writer_id, request_id)
left join lateral (
  select coalesce(max(piece.until_record), 0) as until_record, coalesce(sum(piece.warnings_listed), 0)::integer as warnings_listed
  from bellhop.applied_piece as piece
  where piece.bucket = log.bucket and piece.request_id = log.request_id
) as done on pending.in_pieces
where pending.yields = pending.all_yield
  and pending.records_before < case when pending.yields then $6::integer else $3::integer end and pending.bytes_before < $4
order by log.request_id, log.bucket
