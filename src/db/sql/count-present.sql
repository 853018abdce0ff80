-- How many nodes are present in each role: those whose own session lives and has said something within $1 seconds. One
-- whose activity is hidden (another role's, or track_activities off) counts.
select present.role, count(*)::integer as present
from bellhop.presence as present
join pg_stat_activity as backend on backend.pid = present.backend_pid
  and coalesce(backend.backend_start, present.backend_start) = present.backend_start
where backend.pid = pg_backend_pid()
  or coalesce(backend.state_change, clock_timestamp()) > clock_timestamp() - make_interval(secs => $1)
group by present.role
