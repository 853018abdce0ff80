-- The lanes whose backend is gone, as in retire-lanes, and whose end nobody has noted.
select lane.lane_id::text as lane_id, lane.backend_pid
from bellhop.lane as lane
where lane.sealed_at is null
  and not exists (
    select from pg_stat_activity writer
    where writer.pid = lane.backend_pid
      and coalesce(writer.backend_start, lane.backend_start) = lane.backend_start
  )
