-- Of all buckets what is accepted and not applied in the log writers $1: how many of them have something, and how long the oldest of
-- it has waited. For each bucket and log writer the end of an index of cursors and the next entry of the log's primary key.
-- (Log writer and id are compared together as in src/apply/sql/read-backlog.sql.)
select count(distinct home.bucket)::integer as buckets_behind,
  greatest(0, extract(epoch from clock_timestamp() - min(part.received_at)))::float8 as oldest_unapplied_seconds
from bellhop.bucket_lease as home
cross join unnest($1::bigint[]) as log_writer (log_writer_id)
left join lateral (
  select passed.request_id from bellhop_state.apply_cursor as passed
  where passed.bucket = home.bucket and passed.log_writer_id = log_writer.log_writer_id
  order by passed.request_id desc limit 1
) as cursor on true
cross join lateral (
  select log.request_id, log.received_at
  from bellhop.accept_log as log
  where log.bucket = home.bucket
    and (log.log_writer_id, log.request_id) > (log_writer.log_writer_id, coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid))
    and (log.log_writer_id, log.request_id) <= (log_writer.log_writer_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
  order by log.log_writer_id, log.request_id
  limit 1
) as part
