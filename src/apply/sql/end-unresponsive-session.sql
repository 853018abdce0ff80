-- Ends the session of backend $1 and waits up to a second for its end, unless it has said something since $2.
select pg_terminate_backend(pid, 1000) as ended
from pg_stat_activity
where pid = $1 and state_change::text = $2
