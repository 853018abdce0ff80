-- Seals the log writers whose backend is gone (nothing can appear in them any more), and retires the sealed ones of which
-- every bucket has applied all: those are no longer looked at. A backend whose start is hidden (another role's) counts as
-- the writer, or rows that it has yet to commit would never be read.
-- (Log writer and id are compared together as in src/apply/sql/read-backlog.sql.)
with sealed as (
  update bellhop.log_writer as log_writer set sealed_at = clock_timestamp()
  where log_writer.sealed_at is null
    and not exists (
      select from pg_stat_activity writer
      where writer.pid = log_writer.backend_pid
        and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
    )
)
update bellhop.log_writer as log_writer set retired_at = clock_timestamp()
where log_writer.sealed_at is not null and log_writer.retired_at is null
  and not exists (
    select
    from generate_series(0, 63) as bucket
    left join lateral (
      select passed.request_id from apply_cursor as passed
      where passed.bucket = bucket.bucket and passed.log_writer_id = log_writer.log_writer_id
      order by passed.request_id desc limit 1
    ) as cursor on true
    cross join lateral (
      select from bellhop.accept_log as log
      where log.bucket = bucket.bucket
        and (log.log_writer_id, log.request_id) > (log_writer.log_writer_id, coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid))
        and (log.log_writer_id, log.request_id) <= (log_writer.log_writer_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
        and log.request_id > coalesce(cursor.request_id, '00000000-0000-0000-0000-000000000000'::uuid)
      order by log.log_writer_id, log.request_id
      limit 1
    ) as pending
  )
