-- The log writers that appliers still read, and those of this server whose session has ended without their being closed.
select
  count(*)::integer as read,
  count(*) filter (
    where log_writer.closed_at is null and log_writer.node = 0
      and not exists (
        select from pg_stat_activity as writer
        where writer.pid = log_writer.backend_pid
          and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
      )
  )::integer as abandoned
from bellhop.log_writer as log_writer
where log_writer.retired_at is null
