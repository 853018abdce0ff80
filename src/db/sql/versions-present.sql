-- Which versions are there, a hanging node's among them: it may wake up.
select distinct coalesce(present.version, '0.1.0') as version
from bellhop.presence as present
join pg_stat_activity as backend on backend.pid = present.backend_pid
  and coalesce(backend.backend_start, present.backend_start) = present.backend_start
order by version
