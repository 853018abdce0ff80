-- The lanes that appliers still read, and those of them whose session is gone and that nobody has sealed.
select
  count(*)::integer as read,
  count(*) filter (
    where lane.sealed_at is null
      and not exists (
        select from pg_stat_activity as writer
        where writer.pid = lane.backend_pid
          and coalesce(writer.backend_start, lane.backend_start) = lane.backend_start
      )
  )::integer as abandoned
from bellhop.lane as lane
where lane.retired_at is null
