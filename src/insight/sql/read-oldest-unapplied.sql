-- The first part of the bucket $1 that is accepted and not applied in the log writers $2: for each the end of an index of cursors and the next entry
-- of the log's primary key (compared as in read-backlog.sql).
select part.request_id
from unnest($2::bigint[]) as log_writer (log_writer_id)
left join lateral (
  select passed.request_id from bellhop_state.apply_cursor as passed
  where passed.bucket = $1::smallint and passed.log_writer_id = log_writer.log_writer_id
  order by passed.request_id desc limit 1
) as cursor on true
cross join lateral (
  select log.request_id from bellhop.accept_log as log
  where log.bucket = $1::smallint
    and (log.log_writer_id, log.request_id) > (log_writer.log_writer_id, coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid))
    and (log.log_writer_id, log.request_id) <= (log_writer.log_writer_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
    and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
  order by log.log_writer_id, log.request_id limit 1
) as part
order by part.request_id limit 1
