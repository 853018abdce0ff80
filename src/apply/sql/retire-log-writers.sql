-- Closes log writers whose backend is gone, and retires closed ones that every bucket has applied completely: appliers stop
-- reading them. A backend whose start is hidden (another role's) counts as the writer, or its uncommitted rows would never be read.
with closed as (
  update bellhop.log_writer as log_writer set closed_at = clock_timestamp()
  where log_writer.closed_at is null
    and not exists (
      select from pg_stat_activity writer
      where writer.pid = log_writer.backend_pid
        and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
    )
)
update bellhop.log_writer as log_writer set retired_at = clock_timestamp()
where log_writer.closed_at is not null and log_writer.retired_at is null
  and not exists (
    select
    from generate_series(0, 63) as bucket
    left join lateral ({../../platform/db/sql/cursor of bucket.bucket}) as cursor on true
    cross join lateral (
      select from bellhop.accept_log as log
      where {../../platform/db/sql/beyond-cursor of bucket.bucket}
      order by log.log_writer_id, log.request_id
      limit 1
    ) as pending
  )
