-- Those of the log writers $1 of which some bucket has not applied all. Each worker looks at its own buckets.
-- (Log writer and id are compared together as in src/apply/sql/read-backlog.sql.)
select distinct part.log_writer_id::text as log_writer_id
from bellhop.bucket_lease as home
cross join unnest($1::bigint[]) as log_writer (log_writer_id)
left join lateral (
  select passed.request_id from apply_cursor as passed
  where passed.bucket = home.bucket and passed.log_writer_id = log_writer.log_writer_id
  order by passed.request_id desc limit 1
) as cursor on true
cross join lateral (
  select log.log_writer_id
  from bellhop.accept_log as log
  where log.bucket = home.bucket
    and (log.log_writer_id, log.request_id) > (log_writer.log_writer_id, coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid))
    and (log.log_writer_id, log.request_id) <= (log_writer.log_writer_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
  order by log.log_writer_id, log.request_id
  limit 1
) as part
