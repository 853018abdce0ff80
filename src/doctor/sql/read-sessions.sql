-- The sessions of this server as far as they can be seen. By itself: on Citus the leases lie on the workers, and who asks for both
-- in one statement may be told the sessions of one of those.
select coalesce(json_agg(json_build_object('pid', pid, 'start', extract(epoch from backend_start)::text)), '[]') as sessions
from pg_stat_activity where backend_type = 'client backend'
