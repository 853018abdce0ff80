-- The oldest part that is accepted and not applied, and how many there are, $1 at most of each bucket and log writer, and in how
-- many buckets; of the buckets $3 (null: of all).
-- Plan: for each bucket and unretired log writer a backward scan of one row of apply_cursor's primary key, then an index scan of
-- the log's primary key beyond it; older partitions are pruned by the cursor.
-- (Log writer and id are compared together as in src/apply/sql/read-backlog.sql.)
select
  min(part.request_id::text) as oldest, count(*)::integer as waiting, count(distinct home.bucket)::integer as buckets
from bellhop.bucket_lease as home
cross join unnest($2::bigint[]) as log_writer (log_writer_id)
left join lateral (
  select passed.request_id from bellhop_state.apply_cursor as passed
  where passed.bucket = home.bucket and passed.log_writer_id = log_writer.log_writer_id
  order by passed.request_id desc limit 1
) as cursor on true
cross join lateral (
  select log.request_id
  from bellhop.accept_log as log
  where log.bucket = home.bucket
    and (log.log_writer_id, log.request_id) > (log_writer.log_writer_id, coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid))
    and (log.log_writer_id, log.request_id) <= (log_writer.log_writer_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
  order by log.log_writer_id, log.request_id
  limit $1
) as part
where $3::smallint[] is null or home.bucket = any ($3)
