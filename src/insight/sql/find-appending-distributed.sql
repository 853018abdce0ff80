-- As find-appending, on Citus: what a session began may go on at a worker when the session is gone, until its lane is sealed
-- (src/apply/retire-lanes.ts).
select lane.lane_id::text as lane_id,
  case when writer.pid is null then null else coalesce(writer.xact_start::text, 'unknown') end as transaction
from bellhop.lane as lane
left join pg_stat_activity as writer
  on writer.pid = lane.backend_pid and coalesce(writer.backend_start, lane.backend_start) = lane.backend_start
where lane.sealed_at is null
  and (writer.pid is null or writer.xact_start is not null or writer.backend_start is null)
